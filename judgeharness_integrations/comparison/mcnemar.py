"""McNemar's test with the mid-p value: its power, the smallest change it finds, and the cases that takes."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, bdtrik, gammaln, ndtri, xlogy

from judgeharness_integrations.aggregation.statistics import fewest

__all__ = ["MOST_CASES", "mcnemar_cases", "mcnemar_detectable", "mcnemar_p", "mcnemar_power"]

MOST_CASES: Final = 100_000
_HALVINGS: Final = 30
_TABLED: Final = 512
_NEGLIGIBLE_Z: Final = 9.0


def mcnemar_p(rose: int, fell: int) -> float:
    """Return the two-sided mid-p value of discordant pairs; 1 without any.

    The exact binomial p-value less the probability of what was observed (Fagerland, Lydersen and Laake 2013). Its size
    follows the level closely where the exact test reaches half of it, and exceeds .04 by at most .0014 over 20 to 500
    pairs and 2 to 50 % discordant ones.
    """
    total, fewer = rose + fell, min(rose, fell)
    return min(1.0, float(bdtr(fewer, total, 0.5) + (bdtr(fewer - 1, total, 0.5) if fewer else 0.0)))


def mcnemar_power(n: int, difference: float, *, exchange: float, alpha: float) -> float:
    """Return the power of the test, by summing over the number of discordant pairs.

    Args:
        n: pairs.
        difference: net share of pairs that change one way.
        exchange: share of pairs that change that way, and another such share that change the other way, all the same.
        alpha: level of the test.

    """
    discordant = min(1.0, difference + 2 * exchange)
    if discordant <= 0:
        return 0.0
    spread = _NEGLIGIBLE_Z * (math.sqrt(n * discordant * (1 - discordant)) + 1)
    counts = np.arange(max(0, math.floor(n * discordant - spread)), min(n, math.ceil(n * discordant + spread)) + 1)
    ways = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    chances = np.exp(ways + xlogy(counts, discordant) + xlogy(n - counts, 1 - discordant))
    most = _tabled(alpha)[counts] if counts[-1] < _TABLED else _critical(alpha, counts)
    share = (discordant + difference) / (2 * discordant)
    rejected = bdtrc(counts - most - 1, counts, share) + bdtr(np.maximum(most, 0), counts, share)
    return float(min(1.0, np.sum(np.where(most >= 0, chances * rejected, 0.0))))


@lru_cache(maxsize=64)
def _tabled(alpha: float) -> NDArray[np.int64]:
    """Return what `_critical` gives for small numbers of discordant pairs, which a search asks for again and again."""
    return _critical(alpha, np.arange(_TABLED))


def _critical(alpha: float, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, by number of discordant pairs, the largest smaller side that still rejects; -1 where none does."""
    found = np.nan_to_num(np.floor(bdtrik(alpha / 2, counts, 0.5)), nan=-1.0).astype(np.int64)
    found = np.clip(found, -1, (counts - 1) // 2)
    for _ in range(2):  # the mid-p value is at most the exact one, and the inverse is rounded
        above = np.minimum(found + 1, (counts - 1) // 2)
        found = np.where(_mid_p(above, counts) <= alpha, above, found)
    critical: NDArray[np.int64] = np.where(_mid_p(found, counts) <= alpha, found, -1)
    return critical


def _mid_p(fewer: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    at_most = np.where(fewer >= 0, bdtr(np.maximum(fewer, 0), counts, 0.5), 1.0)
    below = np.where(fewer >= 1, bdtr(np.maximum(fewer - 1, 0), counts, 0.5), 0.0)
    found: NDArray[np.float64] = at_most + below
    return found


def mcnemar_detectable(n: int, *, exchange: float, alpha: float, power: float) -> float | None:
    """Return the smallest net share of changed pairs that the test finds with this power; None if none is."""
    low, high = 0.0, 1 - 2 * exchange
    if high <= 0 or mcnemar_power(n, high, exchange=exchange, alpha=alpha) < power:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = mcnemar_power(n, middle, exchange=exchange, alpha=alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def mcnemar_cases(difference: float, *, exchange: float, alpha: float, power: float) -> int | None:
    """Return how many pairs the test needs to find a net share of changed pairs; None beyond 100,000."""
    exchange = min(exchange, (1 - difference) / 2)
    z = float(ndtri(1 - alpha / 2) + ndtri(power))
    if z * z * (difference + 2 * exchange) / difference**2 > 2 * MOST_CASES:  # by normal approximation
        return None
    reached = partial(mcnemar_power, difference=difference, exchange=exchange, alpha=alpha)
    return fewest(lambda n: reached(n) >= power, least=2, most=MOST_CASES)
