"""Two decisions about the same items: Tango's interval, McNemar's test, exact and with the mid-p value, and its power.

`gained` (or `rose`) counts pairs of (failure, success), `lost` (or `fell`) pairs of (success, failure).
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, bdtrik, ndtri

from judgeharness_integrations.analysis.statistics import POWER
from judgeharness_integrations.analysis.statistics.counts import binomial, likely_counts
from judgeharness_integrations.analysis.statistics.means import Z95, items_for_mean
from judgeharness_integrations.analysis.statistics.search import bisected, fewest

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
