"""What the order of the two answers did to the verdicts, counted case by case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from judgeharness_integrations.aggregation.position import PositionBias, base_perturbation
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow

__all__ = ["PositionCounts"]

_PAIRWISE: Final = frozenset({"A", "B", "TIE", None})
_ORDERS: Final = 2
_FIRST, _SECOND = ("A", "B"), ("B", "A")  # canonical verdicts, shown and swapped, that name the same slot twice


@dataclass(kw_only=True)
class PositionCounts:
    """Counts over the cases of one judge and criterion, as long as verdicts and gold are A, B and TIE.

    Other verdicts name no slot; ties alone could be anybody's. `pairs` counts (verdict as shown, verdict swapped) of
    samples that differ in the order alone, which `aggregation.position_bias` counts for a whole log at once.
    """

    used: set[Verdict | None] = field(default_factory=set)
    foreign: bool = False
    pairs: dict[tuple[Any, Any], int] = field(default_factory=dict)
    cases_first: int = 0
    cases_second: int = 0
    bases: dict[str, str] = field(default_factory=dict)  # swapped perturbation -> what its partner is called

    def add(self, rows: Sequence[VerdictRow]) -> None:
        """Take in the rows of a case."""
        if self.foreign:
            return
        used, orders = self.used, set()
        for row in rows:
            used.add(row.verdict)
            used.add(row.gold)
            orders.add(row.swapped)
        if not used <= _PAIRWISE:
            self.foreign = True
            self.used, self.pairs = set(), {}
        elif len(orders) == _ORDERS:
            self._pair(rows)

    def _pair(self, rows: Sequence[VerdictRow]) -> None:
        shown: dict[tuple[str, int], Verdict | None] = {}
        swapped: dict[tuple[str, int], Verdict | None] = {}
        for row in rows:
            if not row.swapped:
                shown[row.perturbation, row.repetition] = row.verdict
                continue
            base = self.bases.get(row.perturbation)
            if base is None:
                base = self.bases[row.perturbation] = base_perturbation(row)
            swapped[base, row.repetition] = row.verdict
        lean, pairs = 0, self.pairs
        for key, verdict in shown.items():
            if key in swapped:
                pair = (verdict, swapped[key])
                pairs[pair] = pairs.get(pair, 0) + 1
                lean += (pair == _FIRST) - (pair == _SECOND)
        self.cases_first += lean > 0
        self.cases_second += lean < 0

    @property
    def pairwise(self) -> bool:
        """Whether all verdicts and gold labels, and at least one, are A, B or TIE."""
        return not self.foreign and bool(self.used - {None})

    def bias(self) -> PositionBias | None:
        """Return the counts; None when nothing was shown in both orders, or verdicts name no slot."""
        if not self.pairs or not self.used & {"A", "B"}:
            return None
        return PositionBias(
            pairs=sum(self.pairs.values()),
            equal=sum(self.pairs.get((verdict, verdict), 0) for verdict in ("A", "B", "TIE")),
            always_first=self.pairs.get(_FIRST, 0),
            always_second=self.pairs.get(_SECOND, 0),
            first_wins=self._wins("A", "B"),
            second_wins=self._wins("B", "A"),
            cases_first=self.cases_first,
            cases_second=self.cases_second,
        )

    def _wins(self, shown: str, swapped: str) -> int:
        """Return how many samples named one slot: its letter as shown, the other one swapped."""
        return sum(count * ((one == shown) + (other == swapped)) for (one, other), count in self.pairs.items())

    def measured(self) -> dict[str, Any]:
        """Return the fields of `JudgeReplay` that are about position."""
        found = self.bias()
        names = ("always_first", "always_second", "first_slot_rate")
        return {
            **{name: getattr(found, name, None) for name in names},
            "position_consistency": None if found is None else found.consistency,
            "position_bias_p": None if found is None else found.p_value,
            "pairs": 0 if found is None else found.pairs,
        }
