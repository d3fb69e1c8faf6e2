"""Is it more than noise? Exact one-sided tests of flips beyond repetition, and of a share above a limit."""

from __future__ import annotations

import math
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrc

__all__ = ["above_test", "excess_test", "hypergeometric", "whole"]

_NEGLIGIBLE: Final = 1e-200
_ROUNDING: Final = 1e-9

_Spread: TypeAlias = "tuple[int, NDArray[np.float64]]"  # the smallest value, and the chances of it and those above


def excess_test(changed: ArrayLike, probed: ArrayLike, base_changed: ArrayLike, base: ArrayLike) -> float:
    """Return the exact one-sided p-value of "under the change, samples differ from the base verdict more often".

    One stratum is one case (and order). Given its base sample, all its further samples are exchangeable if the change
    does nothing, so that of its differing samples a hypergeometric number falls on those under the change; p is the
    chance that the sum over strata is at least what was seen. With one sample of each kind it is McNemar's exact test.

    Args:
        changed: (n,) samples under the change that differ from the stratum's base verdict.
        probed: (n,) samples under the change.
        base_changed: (n,) further samples of the case as it is that differ from the base verdict.
        base: (n,) further samples of the case as it is, besides the base sample.

    Returns:
        The p-value; 1.0 where no stratum is informative: it lacks one kind of sample, or all or none of them differ.

    """
    hits, first, base_hits, second = (np.asarray(one, np.int64) for one in (changed, probed, base_changed, base))
    total = hits + base_hits
    informative = (first > 0) & (second > 0) & (total > 0) & (total < first + second)
    if not informative.any():
        return 1.0
    kinds, numbers = np.unique(np.column_stack((total, first, second))[informative], axis=0, return_counts=True)
    summed: _Spread = 0, np.ones(1)
    for (differing, under, as_it_is), number in zip(kinds.tolist(), numbers.tolist(), strict=True):
        summed = _joined(summed, _repeated(hypergeometric(differing, under, as_it_is), number))
    start, chances = summed
    return min(1.0, float(chances[max(0, int(hits[informative].sum()) - start) :].sum()))


def hypergeometric(differing: int, probed: int, base: int) -> _Spread:
    """Return how many of the `differing` samples are among the `probed`, if they fall on all alike."""
    low, high = max(0, differing - base), min(differing, probed)
    ways = math.comb(probed + base, differing)
    parts = [math.comb(probed, k) * math.comb(base, differing - k) / ways for k in range(low, high + 1)]
    return low, np.array(parts, dtype=np.float64)


def _joined(one: _Spread, other: _Spread) -> _Spread:
    """Return the sum of two independent counts, without the ends that have next to no chance."""
    chances = np.convolve(one[1], other[1]).astype(np.float64, copy=False)
    kept = np.flatnonzero(chances > _NEGLIGIBLE)
    return one[0] + other[0] + int(kept[0]), chances[kept[0] : kept[-1] + 1]


def _repeated(one: _Spread, times: int) -> _Spread:
    """Return the sum of `times` such counts, by squaring."""
    summed: _Spread = 0, np.ones(1)
    while times:
        if times % 2:
            summed = _joined(summed, one)
        times //= 2
        one = _joined(one, one) if times else one
    return summed


def above_test(hits: float, n: int, share: float) -> float:
    """Return the exact one-sided p-value of "the share is above `share`": P(Bin(n, share) >= hits).

    Args:
        hits: cases with the event; a case seen several times counts with its share of them. The sum is rounded down.
        n: cases.
        share: the limit.

    """
    least = whole(hits)
    return float(bdtrc(least - 1, n, share)) if least > 0 else 1.0


def whole(hits: float) -> int:
    """Return a sum of shares rounded down, floating point forgiven: three thirds are one."""
    return math.floor(hits + _ROUNDING)
