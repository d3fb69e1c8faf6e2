"""A report as JSON (`schemas/report-1.json`), and its cases as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations.analysis.boundary import case_outcome
from judgeharness_integrations.analysis.runs.summarising import gold_of
from judgeharness_integrations.analysis.usage import tokens_of
from judgeharness_integrations.reporting.calibrationtext import calibration_word
from judgeharness_integrations.verdictlog.encoding import defused
from judgeharness_integrations.verdictlog.row import Verdict, verdict_to_json

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.calibration.rates import Rate
    from judgeharness_integrations.analysis.gates.report import GateReport
    from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
    from judgeharness_integrations.analysis.runs.report import JudgeSection, RunReport
    from judgeharness_integrations.analysis.runs.summary import CriterionSummary, FlipRate
    from judgeharness_integrations.analysis.statistics.means import Estimate
    from judgeharness_integrations.analysis.usage import Usage

REPORT_SCHEMA = "judgeharness.report/1"


def report_document(report: RunReport, *, gates: GateReport | None = None, results: bool = False) -> dict[str, Any]:
    """Return the report as JSON-able data.

    Args:
        report: what was measured.
        gates: what gates said of it; without, what the run's own gates said at its end (`gates_of` tells which).
        results: also every case's result (`judgeharness.result/1`); `results` is null without.

    """
    tested, shown = report.annotators, gates or report.gates
    tests = [
        {"test": one.test, "judge": one.judge, "case_id": one.case_id} for one in report.results if one.test is not None
    ]
    return {
        "schema": REPORT_SCHEMA,
        "source": report.source,
        "run": report.run,
        "state": report.state,
        "created_at": report.created_at,
        "cases": report.cases,
        "informal": report.informal,
        "judges": [_judge(section) for section in report.judges],
        "annotators": None if tested is None else tested.to_dict(),
        "annotators_reason": report.annotators_reason,
        "gates": None if shown is None else shown.to_dict(),
        "gates_of": None if shown is None else "report" if gates is not None else "run",
        "results": [result.to_dict() for result in report.results] if results else None,
        **({"tests": tests} if tests else {}),
    }


def _judge(section: JudgeSection) -> dict[str, Any]:
    calibration, state = section.calibration, section.calibration_state
    anchor = None
    if calibration is not None and state is not None:
        anchor = {
            "source": calibration.name,
            "labels": calibration.source,
            "word": calibration.word,
            "status": state.status,
            "reason": state.reason,
            "measured_at": calibration.measured_at,
            "shift": None if section.shift is None else section.shift.to_dict(),
        }
    return {
        "judge": section.judge,
        "models": list(section.models),
        "fingerprint": section.fingerprint,
        "cases": section.cases,
        "not_asked": section.not_asked,
        "calibrated": section.calibrated,
        "calibration": anchor,
        **(
            {"certificates": [given.record(state) for given, state in section.certificates]}
            if section.certificates
            else {}
        ),
        "criteria": [_criterion(summary, section) for summary in section.criteria],
        "usage": asdict(section.usage),
        "cost": section.cost,
        "calibration_usage": None if section.calibration_usage is None else asdict(section.calibration_usage),
        "calibration_cost": section.calibration_cost,
        "cost_remarks": list(section.cost_remarks),
        "skipped": dict(section.skipped),
        "alerts": list(section.alerts),
        "warnings": list(section.every_warning),
        "not_measured": dict(section.not_measured),
    }


def _criterion(summary: CriterionSummary, section: JudgeSection) -> dict[str, Any]:
    design, replay = summary.design, summary.replay
    anchor = section.calibration.criteria.get(summary.criterion) if section.calibrated and section.calibration else None
    return {
        "criterion": summary.criterion,
        "kind": replay.kind,
        "aggregation_rule": design.rule.name,
        "rule_fixed": design.rule_fixed,
        "perturbations": list(design.perturbations),
        "repetitions": design.repetitions,
        "min_valid": design.min_valid,
        "tolerance": design.tolerance,
        "curtail": design.curtail,
        "cases": summary.cases,
        "decided": replay.decided,
        "abstained": replay.abstained,
        "not_graded": replay.not_graded,
        "verdicts": [{"verdict": verdict_to_json(label), "count": count} for label, count in summary.verdicts.items()],
        "positive": summary.positive,
        "positive_rate": _rate(summary.positive_rate),
        "coverage": _rate(summary.coverage),
        "abstention": _rate(summary.abstention),
        "accuracy": _rate(summary.accuracy),
        "controls": None if summary.controls is None else summary.controls.to_dict(),
        "mean_score": _estimate(summary.mean_score),
        "mean_absolute_error": replay.mean_absolute_error,
        "consistency_rate": summary.consistency_rate,
        "chance_consistency": summary.chance_consistency,
        "agreement": summary.agreement,
        "flips": [_flip(flip) for flip in summary.flips],
        "noise": None if summary.noise is None else _flip(summary.noise),
        "repeated": summary.repeated,
        "outcomes": dict(summary.outcomes),
        "planned_samples": summary.planned,
        "calibrated_precision": None if anchor is None else _rate(anchor.precision),
        "calibrated_recall": None if anchor is None else _rate(anchor.recall),
    }


def _flip(flip: FlipRate) -> dict[str, Any]:
    ends = {"value": flip.value, "low": flip.low, "high": flip.high}
    return {"perturbation": flip.perturbation, **ends, "n": flip.cases}


def _rate(rate: Rate | None) -> dict[str, Any] | None:
    return None if rate is None else {"value": rate.value, "low": rate.low, "high": rate.high, "n": rate.trials}


def _estimate(found: Estimate | None) -> dict[str, Any] | None:
    return None if found is None else {"value": found.value, "low": found.low, "high": found.high, "n": found.n}


CASE_COLUMNS: Final = (
    "judge",
    "case_id",
    "criterion",
    "verdict",
    "status",
    "reason",
    "outcome",
    "gold",
    "kind",
    "planned",
    "taken",
    "valid",
    "unparsed",
    "refused",
    "error",
    "distribution",
    "consistency_rate",
    "chance_consistency",
    "agreement",
    "sd",
    "flip_rates",
    "aggregation_rule",
    "rule_fixed",
    "informal",
    "calibration",
    "calibrated_precision",
    "calibrated_recall",
    "judge_model",
    "state",
    "calls",
    "attempts",
    "input_tokens",
    "output_tokens",
    "latency_s",
    "cached_input_tokens",
    "cache_write_tokens",
    "test",
)

_Cell = str | float | None


def case_table(report: RunReport) -> str:
    """Return the cases as CSV with the columns `CASE_COLUMNS`, in order of appearance; empty is what is not known.

    Texts are never formulas of a spreadsheet: a quote stands before one that would be. `distribution` is a JSON list of
    `{verdict, count}` over valid samples, `flip_rates` a JSON object perturbation -> share; a set of labels is a JSON
    list. `outcome` is `passed`, `failed`, `abstained` or `not_graded` (see `case_outcome`). What a case cost stands on
    the line of its first criterion alone, so that sums are right; `latency_s` is in seconds. `calibration` is `valid`,
    `expired`, `unverifiable` or `none`; where labels are a model's, `agreement with` it. `test` is pytest's node id.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CASE_COLUMNS)
    for result in report.results:
        for first, measured in _numbered(result):
            cells = _cells(result, measured) | (_cost(result.usage) if first else {})
            writer.writerow([_shown(cells.get(column)) for column in CASE_COLUMNS])
    return text.getvalue()


def _numbered(result: HarnessResult) -> Iterator[tuple[bool, CriterionResult]]:
    yield from ((place == 0, measured) for place, measured in enumerate(result.criteria.values()))


def _cells(result: HarnessResult, measured: CriterionResult) -> dict[str, _Cell]:
    gold = gold_of(result, measured.criterion)
    informal = result.informal
    anchor = result.calibrated(measured.criterion)
    precision, recall = (None if anchor is None else anchor.precision, None if anchor is None else anchor.recall)
    return {
        "judge": result.judge,
        "case_id": result.case_id,
        "criterion": measured.criterion,
        "verdict": _verdict(measured.verdict),
        "status": measured.status,
        "reason": measured.reason,
        "outcome": case_outcome(measured, gold).outcome,
        "gold": _verdict(gold),
        "kind": "numbers" if measured.numeric else "labels",
        "planned": measured.planned,
        "taken": measured.taken,
        "valid": measured.valid,
        **{name: measured.outcomes.get(name, 0) for name in ("unparsed", "refused", "error")},
        "distribution": _json(
            [
                {"verdict": verdict_to_json(verdict), "count": count}
                for verdict, count in measured.sample_distribution.items()
            ]
        ),
        "consistency_rate": None if informal else measured.consistency_rate,
        "chance_consistency": None if informal else measured.chance_consistency,
        "agreement": measured.agreement,
        "sd": measured.sd,
        "flip_rates": _json(dict(measured.flip_rates) | dict(measured.prompt_sensitivity)),
        "aggregation_rule": None if informal else result.aggregation_rule,
        "rule_fixed": None if informal else result.rule_fixed,
        "informal": "true" if informal else "false",
        "calibration": calibration_word(result, measured.criterion),
        "calibrated_precision": None if precision is None else precision.value,
        "calibrated_recall": None if recall is None else recall.value,
        "judge_model": result.judge_model,
        "state": result.state,
        "test": result.test,
    }


def _cost(usage: Usage) -> dict[str, _Cell]:
    return {
        "calls": usage.calls,
        "attempts": usage.attempts,
        **tokens_of([usage]),
        "latency_s": usage.latency_s,
    }


def _verdict(verdict: Verdict | None) -> _Cell:
    return _json(sorted(verdict)) if isinstance(verdict, frozenset) else verdict


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _shown(cell: _Cell) -> _Cell:
    return defused(cell) if isinstance(cell, str) else cell
