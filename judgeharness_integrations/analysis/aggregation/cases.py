"""One case after the other: its decision, its gold label, how consistent its samples are."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, TypeAlias

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.encoding import LENGTH_COLUMNS, REUSED_FROM
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text, voting

from ..calibration.controls import longer_of
from .curtailing import settled
from .folds import Decision, abstained, not_graded
from .grouping import CLUSTER, by_case, is_numeric
from .rules import PLANNED_SAMPLES, Rule, check_rule_fits, decide, samples_planned
from .statistics import distance_share, modal_share


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDecision:
    """What the rule decided about one case, and the case's gold label.

    `curtailed`: it was planned with early stopping. `censored`: there are fewer rows than samples were planned.
    """

    case_id: str
    rows: Sequence[VerdictRow]
    decision: Decision
    gold: Verdict | None
    curtailed: bool = False
    censored: bool = False


# criterion, decision of a rule -> why it does not stand; None where it does: what a certificate in use says
Withheld: TypeAlias = Callable[[str, CaseDecision], "str | None"]


def case_decisions(
    rows: Sequence[VerdictRow], rule: Rule, *, min_valid: int | None = None, planned: Mapping[str, int] | None = None
) -> Iterator[CaseDecision]:
    """Decide every case of one judge and criterion.

    Args:
        rows: its rows; those of probes do not vote.
        rule: how to fold them.
        min_valid: the quorum; see `replay`.
        planned: case id -> samples that were to be asked; cases of it without any row follow as not graded.

    Raises:
        UsageError: the rule does not fit the verdicts, or a case has two different gold labels.

    """
    rows = voting(rows)
    kind = is_numeric(rows)
    if kind is not None:
        check_rule_fits(rule, numeric=kind, criterion=rows[0].criterion)
    wanted = dict(planned or {})
    for (_, case_id), group in by_case(rows).items():
        yield decided_case(group, rule, planned=wanted.pop(case_id, None), min_valid=min_valid)
    for case_id, samples in wanted.items():
        yield not_asked(case_id, samples)


def decided_case(
    rows: Sequence[VerdictRow], rule: Rule, *, planned: int | None = None, min_valid: int | None = None
) -> CaseDecision:
    """Decide one case from its rows, which the rule is known to fit.

    A case that was stopped early is decided where the rule's decision is settled whatever the samples that were
    not asked would have said.

    Raises:
        UsageError: the case has two different gold labels, or the rule fails.

    """
    asked_for = samples_planned(rows)
    if censored := asked_for > len(rows):
        decision = _stopped(rows, rule, planned=asked_for, min_valid=min_valid)
    else:
        decision = decide(rows, rule, planned=planned, min_valid=min_valid, checked=True)
    return CaseDecision(
        case_id=rows[0].case_id,
        rows=rows,
        decision=decision,
        gold=gold_of(rows),
        curtailed=asked_for > 0,
        censored=censored,
    )


DECIDING_ATTRIBUTES: Final = (CLUSTER, PLANNED_SAMPLES, REUSED_FROM, *dict.fromkeys(chain(*LENGTH_COLUMNS)))


def deciding_attributes(attributes: Mapping[str, Any]) -> dict[str, str | float]:
    """Return what a replay reads of the attributes of a row; of lengths, which differ, only which one is greater."""
    kept = {name: attributes[name] for name in (CLUSTER, PLANNED_SAMPLES, REUSED_FROM) if name in attributes}
    if (longer := longer_of({}, attributes)) is not None:
        kept |= zip(LENGTH_COLUMNS[0], (longer == "A", longer == "B"), strict=True)
    return kept


def standing(case: CaseDecision, criterion: str, withheld: Withheld | None) -> CaseDecision:
    """Return a case as it is, or abstained where its decision does not stand."""
    why = None if withheld is None else withheld(criterion, case)
    return case if why is None else replace(case, decision=abstained(f"{case.decision.reason}; {why}"))


def not_asked(case_id: str, planned: int) -> CaseDecision:
    """Return what a case without any row comes to."""
    nothing = not_graded(f"{planned} of {planned} planned samples were not asked")
    return CaseDecision(case_id=case_id, rows=(), decision=nothing, gold=None)


def _stopped(rows: Sequence[VerdictRow], rule: Rule, *, planned: int, min_valid: int | None) -> Decision:
    left = planned - len(rows)
    swapped = min(left, max(0, planned // 2 - sum(row.swapped for row in rows)))  # rules that look have equal orders
    remaining = [False] * (left - swapped) + [True] * swapped
    decision = settled(rows, rule, remaining=remaining, min_valid=min_valid)
    if decision is not None:
        return decision
    return not_graded(f"sampling stopped early, after {len(rows)} of {planned} samples: they do not settle {rule.name}")


def gold_of(rows: Sequence[VerdictRow]) -> Verdict | None:
    """Return the gold label in the rows of a case, None without one.

    Raises:
        UsageError: there are two different ones.

    """
    found = None
    for row in rows:
        if row.gold is None or row.gold == found:
            continue
        if found is not None:
            raise _two_golds(rows)
        found = row.gold
    return found


def _two_golds(rows: Sequence[VerdictRow]) -> UsageError:
    first, second, *_ = sorted(verdict_text(gold) for gold in {row.gold for row in rows} - {None})
    row = rows[0]
    return UsageError(
        f"case {row.case_id!r} has two gold labels for {row.criterion!r}: {first!r} and {second!r}; keep one."
    )


def case_consistency(case: CaseDecision, *, numeric: bool, tolerance: float = 1.0) -> float | None:
    """Return how consistent the valid samples of a case are: the share of the most frequent verdict.

    For scores, the share within `tolerance` of the decision, of the median where nothing was decided. None without any.
    """
    if not numeric:
        verdicts = [row.verdict for row in case.rows if row.verdict is not None]
        if verdicts and verdicts.count(verdicts[0]) == len(verdicts):
            return 1.0
        return modal_share({verdict: verdicts.count(verdict) for verdict in set(verdicts)})
    scores = scores_of(case)
    if not scores:
        return None
    center = center_of(case.decision)
    return distance_share(scores, statistics.median(scores) if center is None else center, tolerance)


def scores_of(case: CaseDecision) -> list[float]:
    """Return the scores among a case's verdicts."""
    return [float(row.verdict) for row in case.rows if isinstance(row.verdict, (int, float))]


def center_of(decision: Decision) -> float | None:
    """Return the number behind a decision, also of a rule of the caller's own; None where nothing was decided."""
    if decision.center is None and isinstance(decision.verdict, (int, float)):
        return float(decision.verdict)
    return decision.center
