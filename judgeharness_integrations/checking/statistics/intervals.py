"""Intervals of a check: of a share of cases, and of flips beyond those under repetition."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from judgeharness_integrations.calibration.paired import tango_interval

__all__ = ["clopper_pearson", "difference_interval", "excess_interval"]


def clopper_pearson(hits: float, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a share (Clopper and Pearson 1934, Biometrika 26:404).

    Args:
        hits: cases with the event; a case seen several times counts with its share of them, which varies less than a
            single sample, so that the interval is conservative.
        n: cases; without any nothing is known.
        confidence: of the interval.

    """
    if not n:
        return 0.0, 1.0
    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return min(low, hits / n), max(high, hits / n)  # scipy errs by 1e-12 beside 0 and 1


def excess_interval(
    probe_shares: ArrayLike, base_shares: ArrayLike, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the interval of the mean difference of two shares of each case.

    Args:
        probe_shares: (n,) share of the case's samples under the change that differ from its base verdict.
        base_shares: (n,) that share among its further samples without the change.
        confidence: of the interval.

    Returns:
        The ends, within -1 and 1; both of them without cases.

    """
    differences = np.asarray(probe_shares, np.float64) - np.asarray(base_shares, np.float64)
    n = len(differences)
    if not n:
        return -1.0, 1.0
    gained, lost = float(differences.clip(min=0).sum()), float(-differences.clip(max=0).sum())
    return difference_interval(gained, lost, float(np.square(differences).sum()), n, confidence=confidence)


def difference_interval(
    gained: float, lost: float, squares: float, n: int, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Return Tango's score interval of a mean difference, also of differences that are fractions.

    Of differences of -1, 0 and 1 it is Tango's own. Fractions vary less, as if there were more cases: n is raised by
    the ratio of the variance of whole differences with these sums to the variance there is, one whole difference
    added to both, as a few fractions alike are no proof of a small variance.

    Args:
        gained: sum of the positive differences.
        lost: sum of the negative ones, without their sign.
        squares: sum of all squared differences.
        n: cases, at least one.
        confidence: of the interval.

    """
    off = 1 - (gained - lost) ** 2 / n
    more = (gained + lost + off) / (squares + off)
    return tango_interval(gained * more, lost * more, n * more, confidence=confidence)
