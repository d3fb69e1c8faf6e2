"""Position bias: the same pair shown in both orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from judgeharness_integrations.analysis.aggregation.clusters import Cluster, Clusters
from judgeharness_integrations.analysis.statistics.proportions import sign_test
from judgeharness_integrations.verdictlog.row import VerdictRow, voting

_LEANS: dict[tuple[str | None, str | None], int] = {("A", "A"): 1, ("B", "B"): -1}  # the same slot in both orders
_OTHER = {"A": "B", "B": "A"}


@dataclass(frozen=True, kw_only=True)
class PositionBias:
    """Counts over pairs of samples that differ in the order alone.

    `pairs` were asked in both orders; `equal` gave the same canonical verdict in both (a failed sample is equal to
    nothing); `cases_first` and `cases_second` count cases, or clusters of them, that lean to one slot; `first_wins` and
    `second_wins` count verdicts by slot over both orders.
    """

    pairs: int
    equal: int
    always_first: int
    always_second: int
    first_wins: int
    second_wins: int
    cases_first: int
    cases_second: int

    @property
    def consistency(self) -> float | None:
        """Share of all pairs asked that gave the same verdict in both orders."""
        return self.equal / self.pairs if self.pairs else None

    @property
    def first_slot_rate(self) -> float | None:
        """Wins of the first shown text among all wins; ties and failures do not count."""
        wins = self.first_wins + self.second_wins
        return self.first_wins / wins if wins else None

    @property
    def p_value(self) -> float | None:
        """Exact McNemar test of always-first against always-second, one sign a cluster: pairs of one are dependent."""
        return sign_test(self.cases_first, self.cases_second)


def base_perturbation(row: VerdictRow) -> str:
    """Return the row's perturbation without the swap: what its partner in the other order shares."""
    if not row.swapped:
        return row.perturbation
    return "+".join(part for part in row.perturbation.split("+") if part != "position_swap") or "none"


def _slot(row: VerdictRow) -> str | None:
    """Return the slot that won, `A` for the first: the canonical verdict, mirrored when swapped."""
    verdict = row.verdict if row.verdict in _OTHER else None
    return _OTHER[str(verdict)] if verdict and row.swapped else verdict


def position_bias(rows: Iterable[VerdictRow]) -> PositionBias | None:
    """Count position bias over one judge and criterion; None when nothing was shown in both orders."""
    shown: dict[tuple[str, str, str, int], VerdictRow] = {}
    swapped: dict[tuple[str, str, str, int], VerdictRow] = {}
    for row in voting(rows):
        (swapped if row.swapped else shown)[row.run, row.case_id, base_perturbation(row), row.repetition] = row
    pairs = [(shown[key], swapped[key]) for key in shown.keys() & swapped.keys()]
    if not pairs:
        return None
    slots = [(_slot(first), _slot(second)) for first, second in pairs]
    clusters, leaning = Clusters.of_rows([row for pair in pairs for row in pair]), Counter[Cluster]()
    for (first, _), slot in zip(pairs, slots, strict=True):
        leaning[clusters.of(first.case_id)] += _LEANS.get(slot, 0)
    every = [slot for pair in slots for slot in pair]
    return PositionBias(
        pairs=len(pairs),
        equal=sum(first.ok and first.verdict == second.verdict for first, second in pairs),
        always_first=slots.count(("A", "A")),
        always_second=slots.count(("B", "B")),
        first_wins=every.count("A"),
        second_wins=every.count("B"),
        cases_first=sum(lean > 0 for lean in leaning.values()),
        cases_second=sum(lean < 0 for lean in leaning.values()),
    )
