"""Rows of one criterion of one case -> its measurement."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from judgeharness_integrations.aggregation.collapse import independence
from judgeharness_integrations.aggregation.curtailing import settled
from judgeharness_integrations.aggregation.deciding import decide
from judgeharness_integrations.aggregation.decision import Decision, not_graded
from judgeharness_integrations.aggregation.grouping import is_numeric
from judgeharness_integrations.aggregation.statistics import (
    agreement,
    chance_consistency,
    distance_share,
    modal_share,
    pair_disagreement,
)
from judgeharness_integrations.aggregation.unbiased import unbiased_rate
from judgeharness_integrations.design import Design
from judgeharness_integrations.result import CriterionResult, Distribution, PerturbationSummary, RunState
from judgeharness_integrations.verdictlog.row import OUTCOMES, Verdict, VerdictRow

__all__ = ["QUOTED_ERROR", "measure_criterion"]

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
    decision, censored = _decision(rows, design, planned=planned, remaining=remaining)
    why = "" if state == "complete" or decision.status != "not_graded" else f"{state.replace('_', ' ')}: "
    details = f"; {ended}" if why and ended else _most_often(rows, decision)
    numeric = bool(is_numeric(rows))
    counts = _distribution(rows)
    tolerance = design.tolerance if tolerance is None else tolerance
    sets = any(isinstance(verdict, frozenset) for verdict in counts)  # of which there are more than one can guess among
    labels = None if numeric or sets else max(label_count or _FEWEST_LABELS, len(counts))
    scores = [float(row.verdict) for row in rows if isinstance(row.verdict, (int, float))] if numeric else []
    outcomes: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    for row in rows:
        outcomes[row.outcome] += 1
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
        perturbations=_perturbations(rows, tolerance, fixed=not design.curtail),
        independence=independence(rows, temperature=temperature),
        parser_conflicts=sum(bool(row.attributes.get("parser_conflict")) for row in rows if row.attributes),
        censored=censored,
        unbiased_rate=_unbiased_rate(rows, design, planned=planned, labels=label_count) if design.curtail else None,
    )


def _decision(
    rows: Sequence[VerdictRow], design: Design, *, planned: int, remaining: Sequence[bool]
) -> tuple[Decision, bool]:
    """Return the decision, and whether it stands on samples that were stopped early."""
    if not design.curtail or not remaining:
        return decide(rows, design.rule, planned=planned, min_valid=design.min_valid), False
    decision = settled(rows, design.rule, remaining=remaining, min_valid=design.min_valid)
    if decision is not None:
        return decision, True
    decision = decide(rows, design.rule, planned=planned, min_valid=design.min_valid)
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


def _distribution(rows: Sequence[VerdictRow]) -> Distribution:
    """Return verdict -> count over valid samples, most frequent first, then in order of appearance."""
    counts: dict[Verdict, int] = {}  # a case has few samples: a Counter would take longer
    for row in rows:
        if row.verdict is not None:
            counts[row.verdict] = counts.get(row.verdict, 0) + 1
    return counts if len(counts) < _FEWEST_LABELS else dict(sorted(counts.items(), key=lambda item: -item[1]))


def _near(scores: Sequence[float], decision: Decision, tolerance: float) -> float | None:
    center = decision.center
    if center is None:  # a rule of the caller's own, or no decision
        center = float(decision.verdict) if isinstance(decision.verdict, (int, float)) else statistics.median(scores)
    return distance_share(scores, center, tolerance)


def _perturbations(rows: Sequence[VerdictRow], tolerance: float, *, fixed: bool) -> tuple[PerturbationSummary, ...]:
    """Return the samples by perturbation; `fixed`: their number was, as a comparison presumes."""
    groups: dict[str, list[VerdictRow]] = {}
    for row in rows:
        groups.setdefault(row.perturbation, []).append(row)
    counts = {name: _distribution(group) for name, group in groups.items()}
    baseline = counts.get(_BASELINE, {}) if fixed else {}
    return tuple(
        PerturbationSummary(
            name=name,
            asked=len(group),
            valid=sum(counts[name].values()),
            sample_distribution=counts[name],
            flip_rate=None if name == _BASELINE else pair_disagreement(baseline, counts[name], tolerance=tolerance),
            swapped=any([row.swapped for row in group]),  # noqa: C419 - of few rows, a list is the faster
        )
        for name, group in groups.items()
    )
