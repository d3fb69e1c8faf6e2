"""Scores that change places: their splits, folded by means of middle scores, all at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.aggregation import numbers
from judgeharness_integrations.aggregation.deciding import quorum
from judgeharness_integrations.aggregation.rules import Bound, ByKind, Rule
from judgeharness_integrations.comparison.exchange import CaseSamples, Side
from judgeharness_integrations.comparison.outcomes import Bools, CaseOutcomes, Floats
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["ScoreSplits", "folds_scores"]

_MOST_SPLITS: Final = 500
_ROUNDING: Final = 1e-9

Places = NDArray[np.int64]
# from how many valid scores to the first and the last one of those whose mean is taken
_Middle = Callable[[Places, Mapping[str, Fraction]], tuple[Places, Places]]


def _trimmed(valid: Places, values: Mapping[str, Fraction]) -> tuple[Places, Places]:
    cut = valid * values["share"].numerator // values["share"].denominator
    return cut, valid - cut


_MIDDLES: Final[Mapping[Callable[..., Any], _Middle]] = {
    numbers.mean: lambda valid, _: (np.zeros_like(valid), valid),
    numbers.median: lambda valid, _: (np.maximum(valid - 1, 0) // 2, valid // 2 + 1),
    numbers.trimmed_mean: _trimmed,
}


def folds_scores(rule: Rule) -> Bound | None:
    """Return the part of a rule that takes a mean of middle scores; None for any other rule."""
    function = rule.function.numbers.function if isinstance(rule.function, ByKind) else rule.function
    return function if isinstance(function, Bound) and function.function in _MIDDLES else None


@dataclass(kw_only=True)
class ScoreSplits:
    """Outcomes of cases of scores under `median`, `mean` and `trimmed_mean`.

    Cases with more than 500 splits are permuted instead.
    """

    tolerance: float
    permutations: int
    random: np.random.Generator

    def outcomes(self, case: CaseSamples) -> CaseOutcomes:
        """Return what changing places can do to a case."""
        sizes = tuple((len(before), len(after)) for before, after in case.strata)
        pooled = [_scores([*before, *after]) for before, after in case.strata]
        identity = [np.arange(n + m)[None] for n, m in sizes]
        if math.prod(math.comb(n + m, n) for n, m in sizes) <= _MOST_SPLITS:
            orders, drawn = _orders(sizes), False
        else:
            drawn = True
            orders = [self.random.permuted(np.tile(one, (self.permutations, 1)), axis=1) for one in identity]
        orders = [np.concatenate(both) for both in zip(identity, orders, strict=True)]  # first, what was observed
        flips, distances = self._outcome(case, pooled, orders, sizes)
        count = len(flips) - 1
        return CaseOutcomes(
            case_id=case.case_id,
            flips=flips[1:],
            distances=distances[1:],
            chances=None if drawn else np.full(count, 1 / count),
            flipped=bool(flips[0]),
            distance=float(distances[0]),
        )

    def _outcome(
        self,
        case: CaseSamples,
        pooled: Sequence[Floats],
        orders: Sequence[Places],
        sizes: Sequence[tuple[int, int]],
    ) -> tuple[Bools, Floats]:
        parts = [
            (scores[order[:, :n]], scores[order[:, n:]])
            for scores, order, (n, _) in zip(pooled, orders, sizes, strict=True)
        ]
        fixed = [np.tile(_scores(side), (len(orders[0]), 1)) for side in case.fixed]
        centers = [
            _centers(np.concatenate([part[side] for part in parts] + [fixed[side]], axis=1), case.sides[side])
            for side in (0, 1)
        ]
        return self._flips(centers, case.sides), _distances(parts)

    def _flips(self, centers: Sequence[Floats], sides: Sequence[Side]) -> Bools:
        """Return where one side is graded and the other is not, or the decisions are apart."""
        levels = [pass_at for side in sides if (pass_at := _pass_at(side)) is not None]
        if len(levels) == len(sides):
            first, second = (
                np.where(np.isnan(one), np.nan, one >= level - _ROUNDING)
                for one, level in zip(centers, levels, strict=True)
            )
            allowed = 0.0
        else:
            first, second = centers
            allowed = self.tolerance * (1 + _ROUNDING) + _ROUNDING
        graded = ~np.isnan(first) & ~np.isnan(second)
        apart = np.abs(np.where(graded, first - second, 0.0)) > allowed
        return np.asarray(apart | (np.isnan(first) != np.isnan(second)), dtype=np.bool_)


def _pass_at(side: Side) -> float | None:
    bound = folds_scores(side.rule)
    level = None if bound is None else dict(bound.values).get("pass_at")
    return None if level is None else float(level)


def _scores(rows: Sequence[VerdictRow]) -> Floats:
    return np.array([row.verdict if isinstance(row.verdict, (int, float)) else np.nan for row in rows], dtype=float)


def _centers(scores: Floats, side: Side) -> Floats:
    """Return the number each row of samples comes to; NaN where it is not graded."""
    bound = folds_scores(side.rule)
    valid = np.sum(~np.isnan(scores), axis=1)
    graded = valid >= quorum(side.planned, side.min_valid)
    if bound is None or scores.shape[1] < side.planned or not graded.any():
        return np.full(len(scores), np.nan)
    low, high = _MIDDLES[bound.function](valid, dict(bound.values))
    sums = np.cumsum(np.nan_to_num(np.sort(scores, axis=1)), axis=1)
    sums = np.concatenate([np.zeros((len(scores), 1)), sums], axis=1)
    high = np.clip(high, low + 1, None)  # rows without a score, which are not graded
    rows = np.arange(len(scores))
    centers = (sums[rows, np.minimum(high, scores.shape[1])] - sums[rows, low]) / (high - low)
    return np.where(graded, centers, np.nan)


def _distances(parts: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return how far the two sides' means lie apart: sum over strata of nm/(n+m) times their squared distance."""
    total = np.zeros(len(parts[0][0]))
    for before, after in parts:
        n, m = (np.sum(~np.isnan(side), axis=1) for side in (before, after))
        first, second = (np.nansum(side, axis=1) / np.maximum(count, 1) for side, count in ((before, n), (after, m)))
        total += np.where((n > 0) & (m > 0), n * m / np.maximum(n + m, 1) * (first - second) ** 2, 0.0)
    return total


@lru_cache(maxsize=256)
def _orders(sizes: tuple[tuple[int, int], ...]) -> list[Places]:
    """Return all splits of strata of these sizes: of each stratum, the order of its samples, by split."""
    parts = [
        np.array([[*chosen, *(set(range(n + m)) - set(chosen))] for chosen in combinations(range(n + m), n)])
        for n, m in sizes
    ]
    places = np.indices([len(part) for part in parts]).reshape(len(parts), -1)
    return [part[place] for part, place in zip(parts, places, strict=True)]
