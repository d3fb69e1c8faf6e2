"""What changing places can do to a case: whether its decision flips, and how far apart its samples then lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["CaseOutcomes", "NullDistribution", "null_distribution"]

_ROUNDING: Final = 1e-9

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class CaseOutcomes:
    """The outcomes of one case under the null, and the one that was observed.

    An outcome is whether the decision flips and how far the samples of the two sides lie apart (`distances`).
    `chances` are their probabilities where all ways to change places were enumerated; None where the outcomes are
    draws, one a permutation.
    """

    case_id: str
    flips: Bools
    distances: Floats
    chances: Floats | None
    flipped: bool
    distance: float

    @property
    def p(self) -> float:
        """The probability of a flip with samples at least as far apart."""
        extreme = self.flips & (self.distances >= self.distance - _ROUNDING)
        if self.chances is None:
            return float((1 + extreme.sum()) / (1 + len(extreme)))
        return float(min(1.0, self.chances[extreme].sum()))

    @property
    def evidence(self) -> float:
        """The distance of a flip; nothing where the decision stays."""
        return self.distance if self.flipped else 0.0


@dataclass(frozen=True, kw_only=True)
class NullDistribution:
    """Flipped decisions, and the distances of flips summed over all cases, one entry a permutation."""

    flips: Floats
    evidence: Floats


def null_distribution(cases: Sequence[CaseOutcomes], *, seed: int, permutations: int) -> NullDistribution:
    """Return what permutations of all cases at once give.

    Cases with the same outcomes are drawn together. They are taken in an order that depends on outcomes alone, so that
    neither the order of cases nor that of the runs changes what a seed gives.
    """
    random = np.random.default_rng(seed)
    flips, evidence = np.zeros(permutations), np.zeros(permutations)
    counts: dict[tuple[tuple[float, ...], ...], int] = {}
    merged: dict[int, tuple[tuple[float, ...], ...]] = {}  # cases of one composition share their arrays
    for case in cases:
        if case.chances is None:
            flips += case.flips
            evidence += np.where(case.flips, case.distances, 0.0)
        else:
            table = merged.get(id(case.flips)) or merged.setdefault(id(case.flips), _merged(case))
            counts[table] = counts.get(table, 0) + 1
    for table in sorted(counts):
        found, values, chances = (np.array(column) for column in zip(*table, strict=True))
        drawn = _drawn(random, chances, counts[table], permutations)
        flips += drawn(found)
        evidence += drawn(values)
    return NullDistribution(flips=flips, evidence=evidence)


def _merged(case: CaseOutcomes) -> tuple[tuple[float, ...], ...]:
    """Return (flip, evidence, chance) of a case's outcomes, equal ones together, in a fixed order."""
    chances = np.zeros(0) if case.chances is None else case.chances
    evidence = np.round(np.where(case.flips, case.distances, 0.0), 9)
    values, places = np.unique(np.where(case.flips, evidence, -1.0), return_inverse=True)
    together = np.round(np.bincount(places.ravel(), weights=chances, minlength=len(values)), 12)
    return tuple(
        (float(value >= 0), max(0.0, value), chance)
        for value, chance in zip(values.tolist(), together.tolist(), strict=True)
    )


class _Drawn:
    """Sums over cases of one kind, one a permutation."""

    def __init__(self, numbers: NDArray[np.int64], *, counted: bool) -> None:
        self.numbers, self.counted = numbers, counted

    def __call__(self, values: Floats) -> Floats:
        found: Floats = self.numbers @ values if self.counted else values[self.numbers].sum(axis=1)
        return found


def _drawn(random: np.random.Generator, chances: Floats, cases: int, permutations: int) -> _Drawn:
    """Draw outcomes for some cases: how often each occurs, or which ones occur, whichever is less."""
    chances /= chances.sum()
    if len(chances) <= 4 * cases:
        return _Drawn(random.multinomial(cases, chances, size=permutations), counted=True)
    places = np.searchsorted(np.cumsum(chances), random.random((permutations, cases)), side="right")
    return _Drawn(np.minimum(places, len(chances) - 1), counted=False)
