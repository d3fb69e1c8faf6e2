"""Rows of one case -> its measurement. A pure function: the same rows and design give the same result."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from judgeharness_integrations.aggregation.collapse import independence
from judgeharness_integrations.aggregation.deciding import decide
from judgeharness_integrations.aggregation.decision import Decision
from judgeharness_integrations.aggregation.grouping import DEFAULT_CRITERION, EVERY_CRITERION, by_criterion, is_numeric
from judgeharness_integrations.aggregation.rules import RuleLike
from judgeharness_integrations.aggregation.rules import rule as named_rule
from judgeharness_integrations.aggregation.statistics import (
    agreement,
    chance_consistency,
    distance_share,
    modal_share,
    pair_disagreement,
)
from judgeharness_integrations.design import Design
from judgeharness_integrations.result import (
    CriterionResult,
    Distribution,
    HarnessResult,
    PerturbationSummary,
    RunState,
    Usage,
)
from judgeharness_integrations.verdictlog.row import OUTCOMES, VerdictRow

__all__ = ["QUOTED_ERROR", "measure", "measure_criterion", "remeasure"]

_FEWEST_LABELS = 2
_BASELINE = "none"
QUOTED_ERROR = 200  # characters of an error that a reason quotes
_MEASURED = frozenset({"criteria", "design", "usage", "rows", "warnings"})  # what `measure` works out by itself


def measure(
    rows: Sequence[VerdictRow],
    *,
    case_id: str,
    judge: str,
    design: Design,
    planned: int | None = None,
    criteria: Sequence[str] = (),
    label_counts: Mapping[str, int] | None = None,
    tolerances: Mapping[str, float] | None = None,
    temperature: float | None = None,
    rewrites: int = 0,
    judge_model: str | None = None,
    state: RunState = "complete",
    **facts: Any,
) -> HarnessResult:
    """Measure one case from its rows.

    Args:
        rows: all rows of the case by one judge, failures included, in plan order.
        case_id: the case.
        judge: the judge.
        design: what was asked and how it is folded.
        planned: samples that were to be asked; the rows present when None.
        criteria: criteria that must appear even if no row names them.
        label_counts: criterion -> declared number of labels, for the chance level.
        tolerances: criterion -> tolerance of its scores; the design's when not named.
        temperature: the judge's, as evidence of collapse.
        rewrites: rewriter calls made for this case.
        judge_model: the model behind the judge; the rows' when None.
        state: how the run ended for this case; samples that were never asked are explained by it.
        facts: further fields of `HarnessResult`.

    """
    groups = by_criterion(rows, criteria) or {DEFAULT_CRITERION: []}
    if len(groups) > 1:
        groups = {name: _with_omitted(group, name, rows) for name, group in groups.items()}
    results = {
        name: measure_criterion(
            group,
            criterion=name,
            design=design,
            planned=planned,
            label_count=(label_counts or {}).get(name),
            tolerance=(tolerances or {}).get(name, design.tolerance),
            temperature=temperature,
            state=state,
        )
        for name, group in groups.items()
    }
    return HarnessResult(
        case_id=case_id,
        judge=judge,
        judge_model=judge_model or next((row.model for row in rows if row.model), None),
        criteria=results,
        design=design,
        usage=_usage(rows, rewrites),
        rows=tuple(rows),
        state=state,
        temperature=temperature,
        warnings=tuple(dict.fromkeys(str(row.attributes["warning"]) for row in rows if "warning" in row.attributes)),
        **facts,
    )


def remeasure(result: HarnessResult, rule: RuleLike | None = None) -> HarnessResult:
    """Measure a result again from its rows; with a `rule`, under that rule, chosen after the samples.

    Without a rule the measurement is equal to the result. A calibration belongs to its rule and goes with it.
    """
    parts = {name: c for name, c in result.criteria.items() if c.label_count is not None}
    scales = {name: c.tolerance for name, c in result.criteria.items() if c.tolerance is not None}
    design = result.design if rule is None else replace(result.design, rule=named_rule(rule), rule_fixed="after")
    kept = {f.name: getattr(result, f.name) for f in fields(result) if f.name not in _MEASURED}
    if rule is not None:
        kept |= {"calibration": None, "calibration_state": None, "fingerprint": None}
    return measure(
        result.rows,
        design=design,
        planned=next(iter(result.criteria.values())).planned,
        criteria=list(result.criteria),
        label_counts={name: c.label_count for name, c in parts.items() if c.label_count is not None},
        tolerances=scales,
        rewrites=result.usage.rewrites,
        **kept,
    )


def _with_omitted(group: list[VerdictRow], criterion: str, rows: Sequence[VerdictRow]) -> list[VerdictRow]:
    """Return the rows of a criterion, with an unparsed one for every call that answered others but left it out."""
    answered = {(row.perturbation, row.repetition) for row in group}
    omitted = {(row.perturbation, row.repetition): row for row in rows if row.criterion != EVERY_CRITERION}
    return group + [
        replace(row, criterion=criterion, verdict=None, outcome="unparsed", reasoning=None, raw=None)
        for call, row in omitted.items()
        if call not in answered
    ]


def measure_criterion(
    rows: Sequence[VerdictRow],
    *,
    criterion: str,
    design: Design,
    planned: int | None = None,
    label_count: int | None = None,
    tolerance: float | None = None,
    temperature: float | None = None,
    state: RunState = "complete",
) -> CriterionResult:
    """Measure one criterion of one case from its rows; see `measure`."""
    decision = decide(rows, design.rule, planned=planned, min_valid=design.min_valid)
    why = "" if state == "complete" or decision.status != "not_graded" else f"{state.replace('_', ' ')}: "
    numeric = bool(is_numeric(rows))
    counts = distribution(rows)
    tolerance = design.tolerance if tolerance is None else tolerance
    sets = any(isinstance(verdict, frozenset) for verdict in counts)  # of which there are more than one can guess among
    labels = None if numeric or sets else max(label_count or _FEWEST_LABELS, len(counts))
    scores = [float(row.verdict) for row in rows if isinstance(row.verdict, (int, float))]
    outcomes = Counter(row.outcome for row in rows)
    return CriterionResult(
        criterion=criterion,
        verdict=decision.verdict,
        status=decision.status,
        reason=why + decision.reason + _most_often(rows, decision),
        numeric=numeric,
        sample_distribution=counts,
        outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES},
        planned=len(rows) if planned is None else planned,
        consistency_rate=_near(scores, decision, tolerance) if numeric else modal_share(counts),
        chance_consistency=None if labels is None else chance_consistency(sum(counts.values()), labels),
        agreement=agreement(counts),
        label_count=labels,
        sd=statistics.stdev(scores) if numeric and len(scores) > 1 else None,
        tolerance=tolerance if numeric else None,
        perturbations=_perturbations(rows, tolerance),
        independence=independence(rows, temperature=temperature),
        parser_conflicts=sum(bool(row.attributes.get("parser_conflict")) for row in rows),
    )


def _most_often(rows: Sequence[VerdictRow], decision: Decision) -> str:
    """Return what left a case without a decision: the most frequent error, else how its answers were unusable."""
    if decision.status != "not_graded":
        return ""
    errors = Counter(row.error for row in rows if row.error is not None)
    if errors:
        error, count = errors.most_common(1)[0]
        return f"; {count} failed with {error[:QUOTED_ERROR]}"
    outcomes = Counter(row.outcome for row in rows)
    unusable = [f"{outcomes[outcome]} {outcome}" for outcome in ("unparsed", "refused") if outcomes[outcome]]
    return f"; {', '.join(unusable)}" if unusable else ""


def distribution(rows: Sequence[VerdictRow]) -> Distribution:
    """Return verdict -> count over valid samples, most frequent first, then in order of appearance."""
    counts = Counter(row.verdict for row in rows if row.verdict is not None)
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def _near(scores: Sequence[float], decision: Decision, tolerance: float) -> float | None:
    center = decision.center
    if center is None:  # a rule of the caller's own, or no decision
        center = float(decision.verdict) if isinstance(decision.verdict, (int, float)) else statistics.median(scores)
    return distance_share(scores, center, tolerance)


def _perturbations(rows: Sequence[VerdictRow], tolerance: float) -> tuple[PerturbationSummary, ...]:
    groups: dict[str, list[VerdictRow]] = {}
    for row in rows:
        groups.setdefault(row.perturbation, []).append(row)
    counts = {name: distribution(group) for name, group in groups.items()}
    baseline = counts.get(_BASELINE, {})
    return tuple(
        PerturbationSummary(
            name=name,
            asked=len(group),
            valid=sum(row.ok for row in group),
            sample_distribution=counts[name],
            flip_rate=None if name == _BASELINE else pair_disagreement(baseline, counts[name], tolerance=tolerance),
            swapped=any(row.swapped for row in group),
        )
        for name, group in groups.items()
    )


def _usage(rows: Sequence[VerdictRow], rewrites: int) -> Usage:
    def call(row: VerdictRow) -> object:
        return row.call_id if row.call_id is not None else row.key

    never_made = {call(row) for row in rows if row.attempts == 0}  # their perturbation failed
    calls = {call(row) for row in rows} - never_made

    def total(name: str) -> Any:
        known = [value for row in rows if (value := getattr(row, name)) is not None]
        return sum(known) if known else None

    attempts = total("attempts")
    return Usage(
        calls=len(calls),
        attempts=len(calls) if attempts is None else attempts,
        rewrites=rewrites,
        input_tokens=total("input_tokens"),
        output_tokens=total("output_tokens"),
        latency_s=total("latency_s"),
    )
