"""Two decisions about the same items: interval of the difference, power of the exact test, what it can detect."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, bdtrik, gammaln, ndtri, stdtrit, xlogy

from judgeharness_integrations.aggregation.statistics import fewest

__all__ = [
    "MOST_ITEMS",
    "POWER",
    "items_for_mean",
    "items_needed",
    "items_to_confirm",
    "mcnemar_power",
    "mean_interval",
    "minimum_detectable",
    "tango_interval",
    "unchanged_bound",
    "with_zero",
]

POWER: Final = 0.8
MOST_ITEMS: Final = 100_000
_STEPS: Final = 60
_NEGLIGIBLE_Z: Final = 9.0


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
    low, high = (gained - lost) / n, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _score(gained, lost, n, middle) > -z else (low, middle)
    return (low + high) / 2 if gained < n else 1.0


def _score(gained: float, lost: float, n: float, delta: float) -> float:
    """Return Tango's z of the estimate against a true difference `delta`."""
    a, b, c = 2 * n, -(gained + lost) + delta * (2 * n - gained + lost), -lost * delta * (1 - delta)
    q = (math.sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
    variance = n * (2 * q + delta * (1 - delta))
    distance = gained - lost - n * delta
    if variance <= 0:
        return 0.0 if distance == 0 else math.copysign(math.inf, distance)
    return distance / math.sqrt(variance)


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


def mean_interval(values: NDArray[np.float64], *, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return Student's interval of a mean; None below two values, or where all are the same: they show no spread."""
    n = len(values)
    if n < 2 or not np.any(values != values[0]):  # noqa: PLR2004 - a spread needs two
        return None
    center = float(values.mean())
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * float(values.std(ddof=1)) / math.sqrt(n)
    return center - half, center + half


def unchanged_bound(n: int, *, confidence: float = 0.95) -> float:
    """Return the largest share of items that may differ where none of `n` does (Clopper and Pearson 1934)."""
    return float(1 - ((1 - confidence) / 2) ** (1 / n))


def mcnemar_power(n: int, difference: float, *, exchange: float = 0.0, alpha: float = 0.05) -> float:
    """Return the power of the exact two-sided McNemar test, by summing over the number of discordant pairs.

    Args:
        n: pairs.
        difference: net share of pairs that change for the worse (or for the better).
        exchange: share of pairs that change for the worse, and another such share for the better, all the same.
        alpha: level of the test.

    """
    discordant = difference + 2 * exchange
    if not discordant:
        return 0.0
    counts = _likely_counts(n, discordant)
    chance = _binomial(counts, n, discordant)
    worse = (difference + exchange) / discordant
    critical = _critical(counts, alpha)
    reject = bdtrc(counts - critical - 1, counts, worse) + np.where(
        critical >= 0, bdtr(np.maximum(critical, 0), counts, worse), 0.0
    )
    return float(min(1.0, np.sum(np.where(critical >= 0, chance * reject, 0.0))))


def _likely_counts(n: int, share: float) -> NDArray[np.int64]:
    """Return the binomial counts that have a chance worth adding."""
    spread = _NEGLIGIBLE_Z * math.sqrt(n * share * max(0.0, 1 - share)) + _NEGLIGIBLE_Z
    return np.arange(max(0, math.floor(n * share - spread)), min(n, math.ceil(n * share + spread)) + 1)


def _binomial(counts: NDArray[np.int64], n: int, share: float) -> NDArray[np.float64]:
    ways = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    chances: NDArray[np.float64] = np.exp(ways + xlogy(counts, share) + xlogy(n - counts, max(0.0, 1 - share)))
    return chances


def _critical(counts: NDArray[np.int64], alpha: float) -> NDArray[np.int64]:
    """Return, per number of discordant pairs, the largest smaller side that still rejects; -1 where none does."""
    guess = np.maximum(np.nan_to_num(np.floor(bdtrik(alpha / 2, counts, 0.5)), nan=-1.0), -1.0).astype(np.int64)
    above = np.minimum(guess + 1, counts)
    guess = np.where(2 * bdtr(above, counts, 0.5) <= alpha, above, guess)  # the inverse is rounded
    tail = np.where(guess >= 0, bdtr(np.maximum(guess, 0), counts, 0.5), 0.0)
    critical: NDArray[np.int64] = np.where(2 * tail > alpha, guess - 1, guess)
    return critical


def minimum_detectable(n: int, *, exchange: float = 0.0, alpha: float = 0.05, power: float = POWER) -> float | None:
    """Return the smallest net share of changed pairs that the exact test finds with this power; None if none is.

    Args:
        n: pairs.
        exchange: what changes in both directions all the same; see `mcnemar_power`.
        alpha: level of the test.
        power: wanted probability of finding it.

    """
    low, high = 0.0, 1 - 2 * exchange
    if high <= 0 or mcnemar_power(n, high, exchange=exchange, alpha=alpha) < power:
        return None
    for _ in range(_STEPS // 2):
        middle = (low + high) / 2
        enough = mcnemar_power(n, middle, exchange=exchange, alpha=alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def items_needed(difference: float, *, exchange: float = 0.0, alpha: float = 0.05, power: float = POWER) -> int | None:
    """Return how many pairs the exact test needs to find a net share of changed pairs; None beyond 100,000."""
    exchange = min(exchange, (1 - difference) / 2)
    reached = partial(mcnemar_power, difference=difference, exchange=exchange, alpha=alpha)
    return fewest(lambda n: reached(n) >= power, most=MOST_ITEMS)


def items_to_confirm(margin: float, *, exchange: float, power: float = POWER) -> int:
    """Return how many pairs put the interval of an unchanged judge inside -+`margin` with this power.

    What Tango's interval needs where nothing changes at all, as it is z^2 / (n + z^2) wide then on each side, and what
    the exchange needs by normal approximation, added: a few per cent from what simulation gives.
    """
    z = float(ndtri(0.975))
    quiet = math.ceil(z * z * (1 - margin) / margin)
    return quiet + items_for_mean(margin, math.sqrt(2 * exchange), power=power)


def items_for_mean(margin: float, sd: float, *, power: float = POWER) -> int:
    """Return how many values put the 95 % interval of a mean that is 0 inside -+`margin` (normal approximation)."""
    z = float(ndtri(0.975) + ndtri((1 + power) / 2))
    return math.ceil((z * sd / margin) ** 2)
