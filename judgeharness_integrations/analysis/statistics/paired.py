"""Two decisions about the same items: intervals, McNemar's test and its power, chances of counts, and searches.

`gained` (or `rose`) counts pairs of (failure, success), `lost` (or `fell`) pairs of (success, failure).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrc, bdtrik, betaln, gammaln, ndtri, xlog1py, xlogy

from . import POWER
from .means import Z95, items_for_mean

_NEGLIGIBLE_Z: Final = 9.0


def log_ways(n: ArrayLike, k: ArrayLike) -> NDArray[np.float64]:
    """Return the logarithm of how many ways there are to choose k of n; of any shape."""
    ways: NDArray[np.float64] = gammaln(np.add(n, 1)) - gammaln(np.add(k, 1)) - gammaln(np.subtract(n, k) + 1)
    return ways


def binomial(counts: NDArray[np.int64], n: int, share: ArrayLike) -> NDArray[np.float64]:
    """Return the chance of each of the counts among n trials of a share from 0 to 1."""
    chances: NDArray[np.float64] = np.exp(
        log_ways(n, counts) + xlogy(counts, share) + xlog1py(n - counts, np.negative(share))
    )
    return chances


def beta_binomial(counts: NDArray[np.int64], n: int, one: ArrayLike, other: ArrayLike) -> NDArray[np.float64]:
    """Return the chance of each of the counts among n trials whose share is Beta(one, other) distributed.

    Args:
        counts: (..., k) from 0 to n.
        n: trials.
        one: first parameter of the beta distribution, of a shape that goes with the counts'.
        other: its second parameter.

    """
    chances: NDArray[np.float64] = np.exp(
        log_ways(n, counts) + betaln(counts + np.asarray(one), n - counts + np.asarray(other)) - betaln(one, other)
    )
    return chances


def likely_counts(n: int, share: float) -> NDArray[np.int64]:
    """Return the binomial counts that have a chance worth adding: within nine standard deviations and nine more."""
    spread = _NEGLIGIBLE_Z * (math.sqrt(n * share * (1 - share)) + 1)
    return np.arange(max(0, math.floor(n * share - spread)), min(n, math.ceil(n * share + spread)) + 1)


def fewest(enough: Callable[[int], bool], *, least: int = 1, most: int) -> int | None:
    """Return the smallest number of `least` to `most` that is enough, by doubling and bisection; None where none is.

    Where more is not always enough, as power rises with n in teeth, this is where a bisection meets it; see
    `fewest_for_good`.
    """
    low, high = least - 1, least
    while not enough(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    return low + 1 + bisect_left(range(low + 1, high), 1, key=enough)


def fewest_for_good(enough: Callable[[int], bool], grid: Sequence[int]) -> int | None:
    """Return the smallest number from which on every number is enough, where it rises and falls in teeth.

    Args:
        enough: asked of the numbers of the grid, and of every number next to the last of them that is not enough.
        grid: ascending; its steps are shorter than a tooth, or the last tooth may be missed.

    Returns:
        The first number of the grid where all of it is enough; None where the last of it is not.

    """
    last_short = next((place for place in reversed(range(len(grid))) if not enough(grid[place])), None)
    if last_short is None:
        return grid[0]
    if last_short == len(grid) - 1:
        return None
    beyond = grid[min(last_short + 2, len(grid) - 1)]
    return 1 + next(number for number in reversed(range(grid[last_short], beyond)) if not enough(number))


def last(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last whole number from `low` on, below `high`, that holds; `low` is not asked.

    Args:
        holds: true up to some number, and false from there on.
        low: is taken to hold.
        high: is taken not to hold.

    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def bisected(below: Callable[[float], bool], low: float, high: float, *, steps: int) -> tuple[float, float]:
    """Return an interval, `steps` times halved, that holds where `below` turns from true to false.

    Args:
        below: whether a number lies below the crossing.
        low: is taken to lie below it.
        high: is taken not to.
        steps: halvings; after 60 nothing is left to halve between 0 and 1.

    """
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return low, high


def bisected_each(
    below: Callable[[NDArray[np.float64]], NDArray[np.bool_]],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    *,
    steps: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of `bisected` for arrays of one shape, each element by itself."""
    for _ in range(steps):
        middle = (low + high) / 2
        under = below(middle)
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return low, high


MOST_ITEMS: Final = 100_000
_STEPS: Final = 60
_HALVINGS: Final = 30
_TABLED: Final = 512


def tango_interval(gained: float, lost: float, n: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the score interval of a difference of two paired proportions.

    It inverts the test of Tango (1998, Statistics in Medicine 17:891, eq. 8); unlike Wald's it has a width also where
    no pair is discordant.

    Args:
        gained: pairs of (failure, success).
        lost: pairs of (success, failure).
        n: all pairs, at least one.
        confidence: of the interval.

    """
    z = float(ndtri((1 + confidence) / 2))
    return -_upper_end(lost, gained, n, z), _upper_end(gained, lost, n, z)


def _upper_end(gained: float, lost: float, n: float, z: float) -> float:
    """Return the difference above the estimate that lies `z` standard errors from it."""
    if gained >= n:
        return 1.0

    def within(delta: float) -> bool:
        score = tango_score(gained, lost, n, delta)
        return score > -z or math.isnan(score)

    low, high = bisected(within, (gained - lost) / n, 1.0, steps=_STEPS)
    return (low + high) / 2


def tango_score(gained: float, lost: float, n: float, delta: float) -> float:
    """Return Tango's z of an observed difference against a true one (1998, eq. 4), a number for numbers.

    The nuisance share is a root of A q^2 + B q + C; where B is positive, the other form of the root keeps its digits.
    NaN without pairs, and where there is no spread under `delta` and the counts agree with it; infinite where they
    contradict it.

    Args:
        gained: pairs of (failure, success).
        lost: pairs of (success, failure).
        n: all pairs.
        delta: the true difference, share of gained pairs less that of lost ones.

    """
    if not n:
        return math.nan
    a, b, c = 2 * n, -(gained + lost) + delta * (2 * n - gained + lost), -lost * delta * (1 - delta)
    root = math.sqrt(max(0.0, b * b - 4 * a * c))
    share = -2 * c / (root + b) if b > 0 else (root - b) / (2 * a)
    variance = n * (2 * share + delta - delta * delta)
    distance = gained - lost - n * delta
    if variance > 0:
        return distance / math.sqrt(variance)
    return math.copysign(math.inf, distance) if distance else math.nan


def with_zero(interval: tuple[float, float], p: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return an interval of a difference, reaching to 0 where the test printed beside it does not reject 0.

    Four of 24 pairs that all change for the worse end Tango's interval at -.006; McNemar's mid-p value of them is .062.
    An interval that only grows covers no less.

    Args:
        interval: low and high end.
        p: of the test of no difference.
        confidence: of the interval.

    """
    low, high = interval
    return (min(low, 0.0), max(high, 0.0)) if p > 1 - confidence else interval


def mcnemar_p(rose: int, fell: int) -> float:
    """Return the two-sided mid-p value of discordant pairs; 1 without any. Of the exact test it is `sign_test`.

    The exact binomial p-value less the probability of what was observed (Fagerland, Lydersen and Laake 2013). Its size
    follows the level closely where the exact test reaches half of it, and exceeds .04 by at most .0014 over 20 to 500
    pairs and 2 to 50 % discordant ones.
    """
    total, fewer = rose + fell, min(rose, fell)
    return min(1.0, float(bdtr(fewer, total, 0.5) + (bdtr(fewer - 1, total, 0.5) if fewer else 0.0)))


def mcnemar_power(n: int, difference: float, *, exchange: float = 0.0, alpha: float = 0.05, mid: bool = False) -> float:
    """Return the power of McNemar's two-sided test, by summing over the number of discordant pairs.

    Args:
        n: pairs.
        difference: net share of pairs that change one way.
        exchange: share of pairs that change that way, and another such share that change the other way, all the same.
        alpha: level of the test.
        mid: of the test with the mid-p value; else of the exact one.

    """
    discordant = min(1.0, difference + 2 * exchange)
    if discordant <= 0:
        return 0.0
    counts = likely_counts(n, discordant)
    chances = binomial(counts, n, discordant)
    most = _tabled(alpha, mid=mid)[counts] if counts[-1] < _TABLED else _critical(alpha, counts, mid=mid)
    share = (discordant + difference) / (2 * discordant)
    rejected = bdtrc(counts - most - 1, counts, share) + bdtr(np.maximum(most, 0), counts, share)
    return float(min(1.0, np.sum(np.where(most >= 0, chances * rejected, 0.0))))


@lru_cache(maxsize=64)
def _tabled(alpha: float, *, mid: bool) -> NDArray[np.int64]:
    """Return what `_critical` gives for small numbers of discordant pairs, which a search asks for again and again."""
    return _critical(alpha, np.arange(_TABLED), mid=mid)


def _critical(alpha: float, counts: NDArray[np.int64], *, mid: bool) -> NDArray[np.int64]:
    """Return, by number of discordant pairs, the largest smaller side that still rejects; -1 where none does.

    Of the exact test it is that inverse of the binomial distribution, or, as that is rounded, one beside it; of the
    mid-p value, which is smaller, it may be one more.
    """
    most: NDArray[np.int64] = np.nan_to_num(np.floor(bdtrik(alpha / 2, counts, 0.5)), nan=-1.0).astype(np.int64) - 1
    most = np.clip(most, -1, (counts - 1) // 2)
    for _ in range(3):
        above = np.minimum(most + 1, (counts - 1) // 2)
        most = np.where(_two_sided(above, counts, mid=mid) <= alpha, above, most)
    return most


def _two_sided(fewer: NDArray[np.int64], counts: NDArray[np.int64], *, mid: bool) -> NDArray[np.float64]:
    """Return the p-values of so many pairs on the smaller side; 1 and more of less than none."""
    at_most = np.where(fewer >= 0, bdtr(np.maximum(fewer, 0), counts, 0.5), 1.0)
    below = np.where(fewer >= 1, bdtr(np.maximum(fewer - 1, 0), counts, 0.5), 0.0)
    p: NDArray[np.float64] = at_most + (below if mid else at_most)
    return p


def mcnemar_detectable(
    n: int, *, exchange: float = 0.0, alpha: float = 0.05, power: float = POWER, mid: bool = False
) -> float | None:
    """Return the smallest net share of changed pairs that the test finds with this power; None if none is.

    Args:
        n: pairs.
        exchange: what changes in both directions all the same; see `mcnemar_power`.
        alpha: level of the test.
        power: wanted probability of finding it.
        mid: by the mid-p value.

    """
    reached = partial(mcnemar_power, n, exchange=exchange, alpha=alpha, mid=mid)
    most = 1 - 2 * exchange
    if most <= 0 or reached(most) < power:
        return None
    return bisected(lambda difference: reached(difference) < power, 0.0, most, steps=_HALVINGS)[1]


def mcnemar_items(
    difference: float, *, exchange: float = 0.0, alpha: float = 0.05, power: float = POWER, mid: bool = False
) -> int | None:
    """Return how many pairs the test needs to find a net share of changed pairs; None beyond 100,000.

    Args:
        difference: net share of pairs that change one way.
        exchange: what changes in both directions all the same, as far as there is room for it.
        alpha: level of the test.
        power: wanted probability of finding it.
        mid: by the mid-p value.

    """
    exchange = min(exchange, (1 - difference) / 2)
    z = float(ndtri(1 - alpha / 2) + ndtri(power))
    if z * z * (difference + 2 * exchange) / difference**2 > 2 * MOST_ITEMS:  # by normal approximation
        return None
    reached = partial(mcnemar_power, difference=difference, exchange=exchange, alpha=alpha, mid=mid)
    return fewest(lambda n: reached(n) >= power, least=2, most=MOST_ITEMS)


def items_to_confirm(margin: float, *, exchange: float, power: float = POWER) -> int:
    """Return how many pairs put the interval of an unchanged judge inside -+`margin` with this power.

    What Tango's interval needs where nothing changes at all, as it is z^2 / (n + z^2) wide then on each side, and what
    the exchange needs by normal approximation, added: a few per cent from what simulation gives.
    """
    quiet = math.ceil(Z95 * Z95 * (1 - margin) / margin)
    return quiet + items_for_mean(margin, math.sqrt(2 * exchange), power=power)
