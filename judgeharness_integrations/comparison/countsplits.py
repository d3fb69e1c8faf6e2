"""Labels that change places: all splits of pooled counts with their chances, decided by the rule itself."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.comparison.exchange import CaseSamples, Side
from judgeharness_integrations.comparison.outcomes import Bools, CaseOutcomes, Floats
from judgeharness_integrations.comparison.states import State, flipped
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text

__all__ = ["CountSplits"]

_MOST_SPLITS: Final = 2_000
_ORDERS: Final = 2

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Composition:
    """A case as its rule sees it: labels, and how many samples gave each; the last count is of failures.

    `strata` are (swapped, counts before, counts after); `fixed` counts by side, order and label.
    """

    labels: tuple[Verdict, ...]
    strata: tuple[tuple[bool, tuple[int, ...], tuple[int, ...]], ...]
    fixed: tuple[tuple[tuple[int, ...], ...], ...]
    sides: tuple[Side, Side]

    @property
    def pooled(self) -> Hashable:
        """What all ways to change places have in common."""
        strata = tuple(
            sorted((swapped, tuple(map(sum, zip(a, b, strict=True))), sum(a), sum(b)) for swapped, a, b in self.strata)
        )
        return self.labels, strata, self.fixed, tuple(side.key for side in self.sides)


@dataclass(kw_only=True)
class CountSplits:
    """Outcomes of cases whose sides read nothing of a sample but its verdict and its order.

    `tolerance` is how far scores may move without flipping; None for labels. Cases with more than 2,000 splits are
    permuted instead.
    """

    tolerance: float | None
    permutations: int
    random: np.random.Generator
    _decided: dict[Hashable, State] = field(default_factory=dict)
    _seen: dict[Hashable, tuple[bool, float]] = field(default_factory=dict)
    _known: dict[Hashable, tuple[Bools, Floats, Floats]] = field(default_factory=dict)

    def outcomes(self, case: CaseSamples) -> CaseOutcomes:
        """Return what changing places can do to a case."""
        made = _composition(case)
        flip, distance = self._observed(made)
        splits = math.prod(_number(_pooled(a, b), sum(a)) for _, a, b in made.strata)
        if splits > _MOST_SPLITS:
            drawn = [
                self.random.multivariate_hypergeometric(_pooled(a, b), sum(a), size=self.permutations, method="count")
                for _, a, b in made.strata
            ]
            flips, distances, chances = self._flips(made, drawn), _distances(made, drawn), None
        else:
            if made.pooled not in self._known:
                self._known[made.pooled] = self._enumerated(made)
            flips, distances, chances = self._known[made.pooled]
        return CaseOutcomes(
            case_id=case.case_id,
            flips=flips,
            distances=distances,
            chances=chances,
            flipped=flip,
            distance=distance,
        )

    def _observed(self, made: _Composition) -> tuple[bool, float]:
        """Return what became of the case itself."""
        key = (made.strata, made.pooled)
        if key not in self._seen:
            observed = [np.array([before]) for _, before, _ in made.strata]
            self._seen[key] = bool(self._flips(made, observed)[0]), float(_distances(made, observed)[0])
        return self._seen[key]

    def _enumerated(self, made: _Composition) -> tuple[Bools, Floats, Floats]:
        parts = [_splits(_pooled(a, b), sum(a)) for _, a, b in made.strata]
        places = np.indices([len(chances) for _, chances in parts]).reshape(len(parts), -1)
        chosen = [vectors[place] for (vectors, _), place in zip(parts, places, strict=True)]
        chances = np.prod([chances[place] for (_, chances), place in zip(parts, places, strict=True)], axis=0)
        return self._flips(made, chosen), _distances(made, chosen), chances

    def _flips(self, made: _Composition, chosen: Sequence[Counts]) -> Bools:
        """Return which splits flip the decision; `chosen` has what each stratum gives the first side, by split."""
        first = np.zeros((len(chosen[0]), _ORDERS, len(made.labels) + 1), dtype=np.int64)
        second = first.copy()
        for (swapped, a, b), mine in zip(made.strata, chosen, strict=True):
            first[:, int(swapped)] += mine
            second[:, int(swapped)] += np.array(_pooled(a, b)) - mine
        first += np.array(made.fixed[0])
        second += np.array(made.fixed[1])
        both = np.concatenate([first, second], axis=1).reshape(len(first), -1)
        cells, places = np.unique(both, axis=0, return_inverse=True)
        half = cells.shape[1] // 2
        found = [
            flipped(
                self._state(made.labels, tuple(cell[:half]), made.sides[0]),
                self._state(made.labels, tuple(cell[half:]), made.sides[1]),
                self.tolerance,
            )
            for cell in cells.tolist()
        ]
        return np.array(found, dtype=np.bool_)[places.ravel()]

    def _state(self, labels: tuple[Verdict, ...], counts: tuple[int, ...], side: Side) -> State:
        key = (labels, counts, side.key)
        found = self._decided.get(key)
        if found is None:
            found = self._decided[key] = side.state(list(_rows(labels, counts, side.stratum)))
        return found


def _rows(
    labels: Sequence[Verdict], counts: Sequence[int], columns: Iterable[tuple[str, str | float]]
) -> Iterator[VerdictRow]:
    """Yield rows of these counts and columns: by order of the texts, then by label, failures last."""
    attributes = dict(columns)
    width = len(labels) + 1
    for place, count in enumerate(counts):
        verdict = None if place % width == len(labels) else labels[place % width]
        outcome = "ok" if verdict is not None else "error"
        for _ in range(count):
            yield VerdictRow(
                case_id="",
                verdict=verdict,
                outcome=outcome,  # type: ignore[arg-type]
                swapped=place >= width,
                attributes=attributes,
            )


def _composition(case: CaseSamples) -> _Composition:
    rows = [row for stratum in (*case.strata, case.fixed) for side in stratum for row in side]
    labels = tuple(sorted({row.verdict for row in rows if row.verdict is not None}, key=verdict_text))
    places: dict[Verdict | None, int] = {label: place for place, label in enumerate(labels)} | {None: len(labels)}

    def counted(samples: Sequence[VerdictRow]) -> tuple[int, ...]:
        counts = [0] * len(places)
        for row in samples:
            counts[places[row.verdict]] += 1
        return tuple(counts)

    return _Composition(
        labels=labels,
        strata=tuple((before[0].swapped, counted(before), counted(after)) for before, after in case.strata),
        fixed=tuple(
            tuple(counted([row for row in side if row.swapped is swapped]) for swapped in (False, True))
            for side in case.fixed
        ),
        sides=case.sides,
    )


def _pooled(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(before, after, strict=True))


def _distances(made: _Composition, chosen: Sequence[Counts]) -> Floats:
    """Return how far the two sides' shares lie apart: sum over strata of nm/(n+m) times their squared distance."""
    total = np.zeros(len(chosen[0]))
    for (_, a, b), mine in zip(made.strata, chosen, strict=True):
        n, m = sum(a), sum(b)
        apart = mine / n - (np.array(_pooled(a, b)) - mine) / m
        total += n * m / (n + m) * np.sum(apart * apart, axis=1)
    return total


@lru_cache(maxsize=4096)
def _number(counts: tuple[int, ...], size: int) -> int:
    """Return how many vectors of at most these counts have this sum."""
    ways = [1] + [0] * size
    for count in counts:
        ways = [sum(ways[max(0, total - count) : total + 1]) for total in range(size + 1)]
    return ways[size]


@lru_cache(maxsize=4096)
def _splits(counts: tuple[int, ...], size: int) -> tuple[Counts, Floats]:
    """Return all vectors of at most these counts with this sum, and their multivariate hypergeometric chances."""
    found = list(_vectors(counts, size))
    ways = [math.prod(math.comb(k, a) for k, a in zip(counts, vector, strict=True)) for vector in found]
    total = math.comb(sum(counts), size)
    return np.array(found, dtype=np.int64), np.array([way / total for way in ways])


def _vectors(counts: tuple[int, ...], size: int) -> Iterator[tuple[int, ...]]:
    if len(counts) == 1:
        if size <= counts[0]:
            yield (size,)
        return
    for first in range(min(counts[0], size) + 1):
        for rest in _vectors(counts[1:], size - first):
            yield (first, *rest)
