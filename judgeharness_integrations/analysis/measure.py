"""Rows of one case -> its measurement. A pure function: the same rows and design give the same result."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from judgeharness_integrations.verdictlog.row import VerdictRow, is_probe, voting

from .aggregation.curtailing import settled, unbiased_rate
from .aggregation.folds import Decision, not_graded
from .aggregation.grouping import DEFAULT_CRITERION, Tally, TallyOfOne, by_criterion, tallied
from .aggregation.rules import Rule, RuleLike, decide
from .aggregation.rules import rule as named_rule
from .aggregation.statistics import (
    agreement,
    chance_consistency,
    distance_share,
    independence_of,
    modal_share,
    pair_disagreement,
)
from .calibration.population import CaseFacts, Decided, case_columns, column_text, lengths_of
from .calibration.saved import CalibrationReport, CalibrationState
from .certifying.certificate import Certificate
from .design import Design
from .probability.maps import distance
from .result import CriterionResult, HarnessResult, PerturbationSummary, RunState
from .usage import usage_of_rows

__all__ = ["QUOTED_ERROR", "facts_of_result", "measure", "measure_criterion", "remeasure", "uncertified"]


_FEWEST_LABELS = 2
_BASELINE = "none"
QUOTED_ERROR = 200  # characters of an error that a reason quotes


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
    ended: str | None = None,
    remaining: Sequence[bool] = (),
) -> CriterionResult:
    """Measure one criterion of one case from its rows; see `measure`."""
    planned = len(rows) + len(remaining) if planned is None else planned
    tally = tallied(rows)
    counts, outcomes, numeric = tally.counts, tally.outcomes, bool(tally.numeric)
    decision, censored = _decision(rows, design, planned=planned, remaining=remaining, tally=tally)
    why = "" if state == "complete" or decision.status != "not_graded" else f"{state.replace('_', ' ')}: "
    details = f"; {ended}" if why and ended else _most_often(rows, decision)
    tolerance = design.tolerance if tolerance is None else tolerance
    sets = any(isinstance(verdict, frozenset) for verdict in counts)  # of which there are more than one can guess among
    labels = None if numeric or sets else max(label_count or _FEWEST_LABELS, len(counts))
    scores = [float(row.verdict) for row in rows if isinstance(row.verdict, (int, float))] if numeric else []
    return CriterionResult(
        criterion=criterion,
        verdict=decision.verdict,
        status=decision.status,
        reason=why + decision.reason + details,
        numeric=numeric,
        sample_distribution=counts,
        outcomes=outcomes,
        planned=planned,
        consistency_rate=_near(scores, decision, tolerance) if numeric else modal_share(counts),
        chance_consistency=chance_consistency(outcomes["ok"], labels) if labels and not design.curtail else None,
        agreement=None if design.curtail else agreement(counts),
        label_count=labels,
        sd=statistics.stdev(scores) if numeric and len(scores) > 1 else None,
        tolerance=tolerance if numeric else None,
        perturbations=_perturbations(tally.perturbations, tolerance, fixed=not design.curtail),
        independence=independence_of([one.valid for one in tally.perturbations.values()], temperature=temperature),
        parser_conflicts=tally.conflicts,
        censored=censored,
        unbiased_rate=_unbiased_rate(rows, design, planned=planned, labels=label_count) if design.curtail else None,
    )


def _decision(
    rows: Sequence[VerdictRow], design: Design, *, planned: int, remaining: Sequence[bool], tally: Tally
) -> tuple[Decision, bool]:
    """Return the decision, and whether it stands on samples that were stopped early."""
    if not design.curtail or not remaining:
        return decide(rows, design.rule, planned=planned, min_valid=design.min_valid, tally=tally), False
    decision = settled(rows, design.rule, remaining=remaining, min_valid=design.min_valid)
    if decision is not None:
        return decision, True
    decision = decide(rows, design.rule, planned=planned, min_valid=design.min_valid, tally=tally)
    if design.stopping_rule is None:
        return decision, False
    return not_graded(f"sampling stopped early under rule {design.stopping_rule}: {decision.reason}"), True


def _unbiased_rate(rows: Sequence[VerdictRow], design: Design, *, planned: int, labels: int | None) -> float | None:
    """Return the rate without the bias of stopping, for samples under one perturbation that `design.rule` stopped."""
    one_perturbation, two_labels = planned == design.repetitions, labels in (None, _FEWEST_LABELS)
    if design.rule_fixed == "after" or not one_perturbation or not two_labels:
        return None
    return unbiased_rate(rows, design.rule, planned=planned)


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


def _near(scores: Sequence[float], decision: Decision, tolerance: float) -> float | None:
    center = decision.center
    if center is None:  # a rule of the caller's own, or no decision
        center = float(decision.verdict) if isinstance(decision.verdict, (int, float)) else statistics.median(scores)
    return distance_share(scores, center, tolerance)


def _perturbations(
    groups: Mapping[str, TallyOfOne], tolerance: float, *, fixed: bool
) -> tuple[PerturbationSummary, ...]:
    """Return the samples by perturbation; `fixed`: their number was, as a comparison presumes."""
    plain = groups.get(_BASELINE)
    baseline = {} if plain is None or not fixed else plain.counts
    return tuple(
        PerturbationSummary(
            name=name,
            asked=one.asked,
            valid=len(one.valid),
            sample_distribution=one.counts,
            flip_rate=None if name == _BASELINE else pair_disagreement(baseline, one.counts, tolerance=tolerance),
            swapped=one.swapped,
            probability_change=None
            if plain is None or one is plain or plain.probabilities is None or one.probabilities is None
            else distance(plain.probabilities, one.probabilities),
        )
        for name, one in groups.items()
    )


# what `measure` works out by itself
_MEASURED = frozenset({"criteria", "design", "usage", "rows", "probe_rows", "warnings", "unasked"})
_OF_A_RULE = ("calibration", "calibration_state", "certificate", "certificate_state", "fingerprint")


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
    certificate: Certificate | None = None,
    certificate_state: CalibrationState | None = None,
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
        certificate: which decisions are certified; the others abstain.
        certificate_state: whether that holds.
        facts: further fields of `HarnessResult`.

    """
    votes = voting(rows)
    groups = by_criterion(votes, criteria) or {DEFAULT_CRITERION: []}
    ending: dict[str, Any] = {"state": state, "ended": ended}
    results = {
        name: measure_criterion(
            group,
            criterion=name,
            design=design,
            planned=planned,
            label_count=(label_counts or {}).get(name),
            tolerance=(tolerances or {}).get(name, design.tolerance),
            temperature=temperature,
            remaining=remaining,
            **ending,
        )
        for name, group in groups.items()
    }
    result = HarnessResult(
        case_id=case_id,
        judge=judge,
        judge_model=judge_model or next((row.model for row in rows if row.model), None),
        criteria=results,
        design=design,
        usage=usage_of_rows(rows, rewrites=rewrites),
        rows=tuple(votes),
        probe_rows=() if len(votes) == len(rows) else tuple(row for row in rows if is_probe(row.perturbation)),
        temperature=temperature,
        unasked=tuple(remaining) if design.curtail else (),
        warnings=tuple(dict.fromkeys((*_warnings(rows), *_unusable(calibration, calibration_state, results)))),
        calibration=calibration,
        calibration_state=calibration_state,
        **ending,
        **facts,
    )
    return _certified(result, certificate, certificate_state)


def _certified(result: HarnessResult, certificate: Certificate | None, state: CalibrationState | None) -> HarnessResult:
    if certificate is None or state is None:
        return result
    from .certifying.applying import certified  # noqa: PLC0415 - few are certified

    return certified(result, certificate, state)


def _warnings(rows: Sequence[VerdictRow]) -> Iterator[str]:
    return (str(row.attributes["warning"]) for row in rows if "warning" in row.attributes)


def _unusable(
    calibration: CalibrationReport | None, state: CalibrationState | None, criteria: Iterable[str]
) -> Iterable[str]:
    return () if calibration is None or state is None else calibration.unusable(state, criteria)


def uncertified(result: HarnessResult) -> HarnessResult:
    """Return a result with the decisions of its rule alone, those that its certificate withholds among them."""
    if result.certificate is None:
        return result
    return remeasure(replace(result, certificate=None, certificate_state=None))


def facts_of_result(
    result: HarnessResult,
    texts: Mapping[str, str],
    *,
    column: str | None,
    cluster: Hashable,
    criteria: Collection[str] | None = None,
) -> CaseFacts:
    """Return what is counted of a measured case: the rule's decisions, as labelled cases are counted.

    Args:
        result: the measurement.
        texts: field -> text of what was judged, as far as that is known.
        column: the column of the strata.
        cluster: what the case shares with others (`Clusters.of`); None where it stands alone.
        criteria: the criteria that count; all of them when None.

    """
    result = uncertified(result)
    return CaseFacts(
        cluster=cluster,
        criteria={
            name: Decided(verdict=one.verdict, status=one.status, consistency=one.consistency_rate)
            for name, one in result.criteria.items()
            if criteria is None or name in criteria
        },
        stratum=None if column is None else column_text(result.rows, column),
        lengths=lengths_of(result.rows, texts),
        columns=case_columns(result.rows),
    )


def remeasure(result: HarnessResult, rule: RuleLike | None = None) -> HarnessResult:
    """Measure a result again from its rows; with a `rule`, under that rule, chosen after the samples.

    Without a rule the measurement is equal to the result. A calibration or certificate belongs to its rule and
    goes with it. Samples that another rule stopped early are decided only if they settle the decision under this one.
    """
    parts = {name: c for name, c in result.criteria.items() if c.label_count is not None}
    scales = {name: c.tolerance for name, c in result.criteria.items() if c.tolerance is not None}
    design = result.design if rule is None else _redesigned(result, named_rule(rule))
    kept = {f.name: getattr(result, f.name) for f in fields(result) if f.name not in _MEASURED}
    if rule is not None:
        kept |= dict.fromkeys(_OF_A_RULE)
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
