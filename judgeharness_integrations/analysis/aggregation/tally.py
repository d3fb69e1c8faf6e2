"""One walk over the rows of a case and criterion: the counts that its statistics are derived from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judgeharness_integrations.analysis.aggregation.grouping import is_numeric
from judgeharness_integrations.verdictlog.row import OUTCOMES, Verdict, VerdictRow

_SEVERAL = 2


@dataclass(slots=True)
class TallyOfOne:
    """The rows under one perturbation: how many, the valid ones, and verdict -> count; `swapped`: one swaps texts."""

    asked: int
    valid: list[VerdictRow]
    counts: dict[Verdict, int]
    swapped: bool


@dataclass(slots=True)
class Tally:
    """Verdict -> count over valid samples, outcome -> count over all, and the same by perturbation.

    Verdicts stand with the most frequent first, then in order of appearance. `conflicts`: answers that the parser read
    in two ways.
    """

    counts: Mapping[Verdict, int]
    outcomes: dict[str, int]
    perturbations: dict[str, TallyOfOne]
    conflicts: int
    numeric: bool | None


def tallied(rows: Sequence[VerdictRow]) -> Tally:
    """Count the rows of one case and criterion.

    Raises:
        UsageError: labels and numbers are mixed.

    """
    counts: dict[Verdict, int] = {}  # a case has few samples: Counters would take longer
    outcomes: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    perturbations: dict[str, TallyOfOne] = {}
    conflicts = 0
    for row in rows:
        outcomes[row.outcome] += 1
        one = perturbations.get(row.perturbation)
        if one is None:
            one = perturbations[row.perturbation] = TallyOfOne(0, [], {}, swapped=False)
        one.asked += 1
        if row.swapped:
            one.swapped = True
        if (verdict := row.verdict) is not None:
            one.valid.append(row)
            one.counts[verdict] = one.counts.get(verdict, 0) + 1
            counts[verdict] = counts.get(verdict, 0) + 1
        if row.attributes and row.attributes.get("parser_conflict"):
            conflicts += 1
    for one in perturbations.values():
        one.counts = _by_frequency(one.counts)
    return Tally(_by_frequency(counts), outcomes, perturbations, conflicts, is_numeric(rows, verdicts=counts))


def _by_frequency(counts: dict[Verdict, int]) -> dict[Verdict, int]:
    if len(counts) < _SEVERAL:
        return counts
    return dict(sorted(counts.items(), key=lambda item: -item[1]))
