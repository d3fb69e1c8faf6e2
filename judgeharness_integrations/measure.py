"""Rows of one case -> its measurement. A pure function: the same rows and design give the same result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from judgeharness_integrations.aggregation.grouping import DEFAULT_CRITERION, by_criterion
from judgeharness_integrations.aggregation.rules import Rule, RuleLike
from judgeharness_integrations.aggregation.rules import rule as named_rule
from judgeharness_integrations.calibration.report import CalibrationReport, CalibrationState
from judgeharness_integrations.design import Design
from judgeharness_integrations.measurecriterion import QUOTED_ERROR, measure_criterion
from judgeharness_integrations.result import HarnessResult, RunState
from judgeharness_integrations.usage import usage_of_rows
from judgeharness_integrations.verdictlog.probenames import is_probe, voting
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["QUOTED_ERROR", "measure", "measure_criterion", "remeasure"]

# what `measure` works out by itself
_MEASURED = frozenset({"criteria", "design", "usage", "rows", "probe_rows", "warnings", "unasked"})


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
    ended: str | None = None,
    remaining: Sequence[bool] = (),
    calibration: CalibrationReport | None = None,
    calibration_state: CalibrationState | None = None,
    **facts: Any,
) -> HarnessResult:
    """Measure one case from its rows.

    Args:
        rows: all rows of the case by one judge, failures included, in plan order; those of probes do not vote.
        case_id: the case.
        judge: the judge.
        design: what was asked and how it is folded.
        planned: samples that were to be asked and vote; the rows present when None.
        criteria: criteria that must appear even if no row names them.
        label_counts: criterion -> declared number of labels, for the chance level.
        tolerances: criterion -> tolerance of its scores; the design's when not named.
        temperature: the judge's, as evidence of collapse.
        rewrites: rewriter calls made for this case.
        judge_model: the model behind the judge; the rows' when None.
        state: how the run ended for this case; samples that were never asked are explained by it.
        ended: why it ended so, where `state` does not say it all.
        remaining: with early stopping, of each planned sample that was not asked, whether it swaps the texts.
        calibration: the calibration that goes with it, whose faults are warnings.
        calibration_state: whether that holds.
        facts: further fields of `HarnessResult`.

    """
    votes = voting(rows)
    groups = by_criterion(votes, criteria) or {DEFAULT_CRITERION: []}
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
            ended=ended,
            remaining=remaining,
        )
        for name, group in groups.items()
    }
    return HarnessResult(
        case_id=case_id,
        judge=judge,
        judge_model=judge_model or next((row.model for row in rows if row.model), None),
        criteria=results,
        design=design,
        usage=usage_of_rows(rows, rewrites=rewrites),
        rows=tuple(votes),
        probe_rows=tuple(row for row in rows if is_probe(row.perturbation)),
        state=state,
        ended=ended,
        temperature=temperature,
        unasked=tuple(remaining) if design.curtail else (),
        warnings=tuple(dict.fromkeys((*_said(rows), *_unusable(calibration, calibration_state, results)))),
        calibration=calibration,
        calibration_state=calibration_state,
        **facts,
    )


def _said(rows: Sequence[VerdictRow]) -> Iterator[str]:
    return (str(row.attributes["warning"]) for row in rows if "warning" in row.attributes)


def _unusable(
    calibration: CalibrationReport | None, state: CalibrationState | None, criteria: Iterable[str]
) -> Iterable[str]:
    return () if calibration is None or state is None else calibration.unusable(state, criteria)


def remeasure(result: HarnessResult, rule: RuleLike | None = None) -> HarnessResult:
    """Measure a result again from its rows; with a `rule`, under that rule, chosen after the samples.

    Without a rule the measurement is equal to the result. A calibration belongs to its rule and goes with it. Samples
    that another rule stopped early are decided only if they settle the decision under this one, too.
    """
    parts = {name: c for name, c in result.criteria.items() if c.label_count is not None}
    scales = {name: c.tolerance for name, c in result.criteria.items() if c.tolerance is not None}
    design = result.design if rule is None else _redesigned(result, named_rule(rule))
    kept = {f.name: getattr(result, f.name) for f in fields(result) if f.name not in _MEASURED}
    if rule is not None:
        kept |= {"calibration": None, "calibration_state": None, "fingerprint": None}
    return measure(
        (*result.rows, *result.probe_rows),
        design=design,
        planned=next(iter(result.criteria.values())).planned,
        criteria=list(result.criteria),
        label_counts={name: c.label_count for name, c in parts.items() if c.label_count is not None},
        tolerances=scales,
        rewrites=result.usage.rewrites,
        remaining=result.unasked,
        **kept,
    )


def _redesigned(result: HarnessResult, rule: Rule) -> Design:
    stopped = any(criterion.censored for criterion in result.criteria.values())
    stopped_by = result.design.stopping_rule or (result.aggregation_rule if stopped else None)
    return replace(result.design, rule=rule, rule_fixed="after", stopping_rule=stopped_by)
