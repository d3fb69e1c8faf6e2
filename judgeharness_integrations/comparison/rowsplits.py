"""Rows that change places where a rule of the caller's own or a certificate reads more of them than verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from judgeharness_integrations.comparison.exchange import CaseSamples
from judgeharness_integrations.comparison.outcomes import CaseOutcomes
from judgeharness_integrations.comparison.states import flipped
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["RowSplits", "affordable"]

_FEWEST: Final = 199
_DECISIONS: Final = 400_000

_Parts = Sequence[tuple[Sequence[VerdictRow], Sequence[VerdictRow]]]


def affordable(cases: int, permutations: int) -> int:
    """Return how many permutations of so many cases are made: 400,000 decisions, but at least 199 permutations."""
    return min(permutations, max(_FEWEST, _DECISIONS // (2 * max(cases, 1))))


@dataclass(kw_only=True)
class RowSplits:
    """Outcomes of cases, drawn by permuting their rows; each is decided by itself."""

    tolerance: float | None
    permutations: int
    random: np.random.Generator

    def outcomes(self, case: CaseSamples) -> CaseOutcomes:
        """Return what changing places did to a case in so many permutations."""
        seen = self._outcome(case, case.strata)
        drawn = [self._outcome(case, self._exchanged(case)) for _ in range(self.permutations)]
        return CaseOutcomes(
            case_id=case.case_id,
            flips=np.array([flip for flip, _ in drawn], dtype=np.bool_),
            distances=np.array([distance for _, distance in drawn]),
            chances=None,
            flipped=seen[0],
            distance=seen[1],
        )

    def _exchanged(self, case: CaseSamples) -> _Parts:
        parts = []
        for before, after in case.strata:
            rows = (*before, *after)
            order = self.random.permutation(len(rows)).tolist()
            mixed = [rows[place] for place in order]
            parts.append((mixed[: len(before)], mixed[len(before) :]))
        return parts

    def _outcome(self, case: CaseSamples, parts: _Parts) -> tuple[bool, float]:
        states = [
            case.sides[side].state([*(row for part in parts for row in part[side]), *case.fixed[side]])
            for side in (0, 1)
        ]
        return flipped(states[0], states[1], self.tolerance), sum(_distance(*part) for part in parts)


def _distance(before: Sequence[VerdictRow], after: Sequence[VerdictRow]) -> float:
    first, second = (Counter(row.verdict for row in rows) for rows in (before, after))
    n, m = len(before), len(after)
    return n * m / (n + m) * sum((first[verdict] / n - second[verdict] / m) ** 2 for verdict in first | second)
