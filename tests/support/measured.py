"""Measurements of many shapes, built from rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.calibration import (
    CalibrationReport,
    CalibrationState,
    Judged,
    measure_calibration,
)
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.measure import measure
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.verdictlog.row import VerdictRow
from support.rows import both_orders, sampled

# labels of both kinds, and a judge that is right: nothing is left to say of such a calibration
TOLD = [("PASS", "PASS"), ("FAIL", "FAIL")] * 8

VALID = CalibrationState(status="valid")
EXPIRED = CalibrationState(status="expired", reason="rule changed")
UNVERIFIABLE = CalibrationState(status="unverifiable", reason="the judge declares no identity")

PATTERN = ["PASS", "PASS", "PASS", "FAIL", "PASS", "FAIL", "PASS", "FAIL"]


def calibration(*pairs: tuple[Any, Any], **changes: Any) -> CalibrationReport:
    """A report of decided (gold, decision) pairs on one criterion."""
    items = [Judged(gold=gold, verdict=verdict, status="decided") for gold, verdict in pairs or [("PASS", "PASS")]]
    fields: dict[str, Any] = {
        "name": "human_labeled_set_v1",
        "judge": "judge",
        "source": "human",
        "consensus": "majority",
        "excluded_ties": 0,
        "criteria": {"verdict": measure_calibration(items)},
        "measured_at": "2026-01-01T00:00:00+00:00",
    }
    return CalibrationReport(**fields | changes)


def measured(
    rows: list[VerdictRow],
    *,
    perturbations: tuple[str, ...] = ("none", "format_change"),
    repetitions: int = 4,
    rule_name: Any = "majority",
    min_valid: int | None = None,
    rule_fixed: Any = "before",
    **facts: Any,
) -> HarnessResult:
    """A measurement of the given rows; every field of design and result can be set."""
    design = Design(
        perturbations=perturbations,
        repetitions=repetitions,
        rule=rule(rule_name),
        min_valid=min_valid,
        rule_fixed=rule_fixed,
    )
    return measure(rows, **{"case_id": "c1", "judge": "judge", "design": design} | facts)


def pattern(**facts: Any) -> HarnessResult:
    """The pattern's own example."""
    rows = [
        *sampled(PATTERN[:4], perturbation="paraphrase"),
        *sampled(PATTERN[4:], perturbation="format_change"),
    ]
    defaults: dict[str, Any] = {
        "perturbations": ("paraphrase", "format_change"),
        "judge_model": "gpt-4o",
        "calibration": calibration(),
        "calibration_state": VALID,
    }
    return measured(rows, **defaults | facts)


def shapes() -> dict[str, HarnessResult]:
    """One measurement of every shape a result can have."""
    scores = [*sampled([7, 8, 10.5]), *sampled([7, None], perturbation="format_change")]
    labels = [frozenset({"toxic", "spam"}), frozenset({"toxic"}), frozenset({"spam", "toxic"}), frozenset()]
    several = [
        *sampled(["PASS", "PASS"], criterion="tone", call_id="k"),
        *sampled([7, 9], criterion="score"),
        VerdictRow(case_id="c1", criterion="*", verdict=None, outcome="error", repetition=2, error="TimeoutError"),
    ]
    evident = [
        replace(
            row, raw="x" * 300, attributes={"response_id": "r", "parser_conflict": 1, "warning": "cached"}, gold="A"
        )
        for row in sampled("AAB", latency_s=0.5, input_tokens=3, output_tokens=0, model="m", asked_at="2026-01-01")
    ]
    prompted = [*sampled(["PASS"]), *sampled(["FAIL"], perturbation="prompt_variant(1)")]
    scored = calibration((7, 8), (9, 9), source="executable")
    return {
        "pattern": pattern(),
        "abstained": pattern(rule_name="supermajority"),
        "not graded": measured(sampled([None, None, "PASS", None])),
        "unfinished": measured([], planned=8, state="budget_exhausted"),
        "numbers": measured(scores, rule_name="median", calibration=scored, calibration_state=VALID),
        "pass_at": measured(scores, rule_name="mean(pass_at=7)", fingerprint="0123456789abcdef"),
        "tied scores": measured(sampled([1, 9]), rule_name="mode"),
        "sets": measured(sampled(labels)),
        "pairs": measured(both_orders("AAB", ["A", "A", "TIE"]), rule_name="swap_consensus", repetitions=3),
        "rubric": measured(several, rule_name=first),
        "collapsed": measured(evident, rule_fixed="after", model_families=("openai", "openai")),
        "prompted": measured(prompted, perturbations=("none", "prompt_variant(1)"), repetitions=1),
        "skipped": measured(sampled(["PASS"] * 4), skipped={"format_change": "no Markdown"}, state="interrupted"),
        "informal": measured(sampled(["PASS"]), perturbations=("none",), repetitions=1),
        "informal failure": measured(sampled([None]), perturbations=("none",), repetitions=1),
        "expired": pattern(calibration_state=EXPIRED),
        "unverifiable": pattern(calibration_state=UNVERIFIABLE),
        "agreement": pattern(calibration=calibration(source="model:o3")),
        "undefined rates": pattern(calibration=calibration(("FAIL", "FAIL"))),
        "other criterion": pattern(calibration=calibration(criteria={"tone": measure_calibration([])})),
    }


def first(rows: Any) -> Any:
    """A rule of the caller's own."""
    return next(row.verdict for row in rows if row.ok)
