"""Shares of independent trials: Wilson's, exact and Jeffreys' intervals, and exact tests. SciPy loads at first use."""

from __future__ import annotations

import math
from typing import Final

from judgeharness_integrations.analysis.statistics.means import z_quantile

__all__ = [
    "above_test",
    "clopper_pearson",
    "exact_interval",
    "jeffreys",
    "sign_test",
    "unchanged_bound",
    "whole",
    "wilson",
    "wilson_of",
    "worth_of",
]

_ROUNDING: Final = 1e-9


def wilson(successes: int, trials: int, *, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the Wilson score interval of a proportion (Wilson 1927); None without trials."""
    return wilson_of(successes / trials, trials, z_quantile(confidence)) if trials else None


def wilson_of(rate: float, trials: float, z: float) -> tuple[float, float]:
    """Return Wilson's interval of a rate over a number of trials that may be effective, `z` standard errors wide.

    With Student's quantile for `z` and the effective number of trials it is the interval of clustered ones (Korn and
    Graubard 1998).
    """
    spread = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    center, scale = rate + z * z / (2 * trials), 1 + z * z / trials
    low = (center - spread) / scale if rate else 0.0  # exactly, where rounding would leave 2e-17
    high = (center + spread) / scale if rate < 1 else 1.0
    return max(0.0, low), min(1.0, high)


def worth_of(rate: float, low: float, high: float, *, confidence: float = 0.95) -> float:
    """Return how many independent trials Wilson's interval of a rate is worth; 0 where it says nothing.

    An end x of it is where (rate - x)^2 = (t^2 / n) x (1 - x), t being a quantile and n the effective number of trials:
    this is n (z / t)^2, the number that Korn and Graubard 1998 take, and of independent trials their own.

    Args:
        rate: successes of trials, or a mean of shares.
        low: where the interval begins.
        high: where it ends.
        confidence: of the interval.

    """
    end = max(low, high, key=lambda one: one * (1 - one))
    if not 0 < end < 1:
        return 0.0
    worth = end * (1 - end) * (z_quantile(confidence) / (rate - end)) ** 2
    nearest = round(worth)
    return nearest if math.isclose(worth, nearest, rel_tol=_ROUNDING) else worth


def exact_interval(rate: float, worth: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return Clopper and Pearson's interval of a rate over the number of independent trials it is worth."""
    return clopper_pearson(rate * worth, worth, confidence=confidence)


def clopper_pearson(hits: float, n: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a share (Clopper and Pearson 1934, Biometrika 26:404).

    Args:
        hits: cases with the event; a case seen several times counts with its share of them, which varies less than a
            single sample, so that the interval is conservative.
        n: cases, or what dependent ones are worth; without any nothing is known.
        confidence: of the interval.

    """
    from scipy.special import betaincinv  # noqa: PLC0415 - a heavy import

    if not n:
        return 0.0, 1.0
    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return min(low, hits / n), max(high, hits / n)  # scipy errs by 1e-12 beside 0 and 1


def jeffreys(hits: float, n: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval of a share under Jeffreys' prior (Brown, Cai, DasGupta 2001, section 3.1.2).

    Its ends are 0 without a hit and 1 without a miss.

    Args:
        hits: cases with the event.
        n: cases, or what dependent ones are worth; without any nothing is known.
        confidence: of the interval.

    """
    from scipy.special import betaincinv  # noqa: PLC0415 - a heavy import

    tail = (1 - confidence) / 2
    low, high = (float(betaincinv(hits + 0.5, n - hits + 0.5, place)) for place in (tail, 1 - tail))
    return low if hits > 0 else 0.0, high if hits < n else 1.0


def unchanged_bound(n: int, *, confidence: float = 0.95) -> float:
    """Return the largest share of items that may differ where none of `n` does (Clopper and Pearson 1934)."""
    return float(1 - ((1 - confidence) / 2) ** (1 / n))


def above_test(hits: float, n: int, share: float) -> float:
    """Return the exact one-sided p-value of "the share is above `share`": P(Bin(n, share) >= hits).

    Args:
        hits: cases with the event; a case seen several times counts with its share of them. The sum is rounded down.
        n: cases.
        share: the limit.

    """
    from scipy.special import bdtrc  # noqa: PLC0415 - a heavy import

    least = whole(hits)
    return float(bdtrc(least - 1, n, share)) if least > 0 else 1.0


def whole(hits: float) -> int:
    """Return a sum of shares rounded down, floating point forgiven: three thirds are one."""
    return math.floor(hits + _ROUNDING)


def sign_test(first: int, second: int) -> float | None:
    """Return the exact two-sided binomial (McNemar) p-value of `first` against `second` discordant pairs.

    In whole numbers, so that a large log costs no digit. None when there is no discordant pair.
    """
    total, fewer = first + second, min(first, second)
    if not total:
        return None
    if total - 2 * fewer < fewer:  # what lies between the two tails has fewer terms than a tail
        between = _ways(total, fewer + 1, total - fewer)
        return ((1 << total) - between) / (1 << total)
    return min(1.0, _ways(total, 0, fewer + 1) / (1 << (total - 1)))


def _ways(total: int, start: int, stop: int) -> int:
    """Return how many subsets of `total` things have `start` to `stop` - 1 members."""
    ways, found = math.comb(total, start), 0
    for k in range(start, stop):
        found += ways
        ways = ways * (total - k) // (k + 1)
    return found
