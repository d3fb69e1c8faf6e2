"""How a judge answers, whatever is right: failures, agreement of its samples, position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from judgeharness_integrations.aggregation.grouping import by_case, by_criterion
from judgeharness_integrations.aggregation.planned import samples_planned
from judgeharness_integrations.aggregation.statistics import agreement
from judgeharness_integrations.replay.positioncounts import PositionCounts
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["Answering", "answer_key", "answering_of"]


@dataclass(frozen=True, kw_only=True)
class Answering:
    """Counts of the answers among the `rows` of a judge, and rates over its samples; see `JudgeMeasures`."""

    rows: int
    unparsed: int
    failed: int
    agreement: float | None
    consistency: float | None
    first_slot_rate: float | None


def answering_of(rows: Sequence[VerdictRow], pairwise: str | None) -> Answering:
    """Return how one judge answers.

    Args:
        rows: all its rows.
        pairwise: the criterion that is a choice between A and B.

    """
    failed = {answer_key(row) for row in rows if row.outcome != "ok"}
    unparsed = {answer_key(row) for row in rows if row.outcome == "unparsed"}
    groups = {name: list(by_case(mine).values()) for name, mine in by_criterion(rows).items()}
    chosen = groups if pairwise is None else {pairwise: groups.get(pairwise, [])}
    cases = [case for group in chosen.values() for case in group]
    fixed = not any(samples_planned(case) for case in cases)
    position = PositionCounts()
    for case in groups.get(pairwise, ()) if fixed and pairwise is not None else ():
        position.add(case)
    found = position.measured()
    return Answering(
        rows=len(rows),
        unparsed=len(unparsed),
        failed=len(failed),
        agreement=_agreement(cases) if fixed else None,
        consistency=found["position_consistency"],
        first_slot_rate=found["first_slot_rate"],
    )


def answer_key(row: VerdictRow) -> Hashable:
    """Return what is the same for all rows of one call, which may answer several criteria at once."""
    return row.key if row.call_id is None else (row.run, row.judge, row.call_id)


def _agreement(cases: Iterable[Sequence[VerdictRow]]) -> float | None:
    shares = (agreement(Counter(row.verdict for row in case if row.verdict is not None)) for case in cases)
    known = [share for share in shares if share is not None]
    return fmean(known) if known else None
