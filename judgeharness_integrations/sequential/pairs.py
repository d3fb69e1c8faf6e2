"""E-processes for two measurements of the same cases: signs of discordant pairs, and bounded changes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln

from judgeharness_integrations.sequential.mean import log_e_mean

__all__ = ["log_e_shift", "log_e_signs"]

Floats = NDArray[np.float64]


def log_e_signs(rose: ArrayLike, fell: ArrayLike) -> Floats:
    """Return the logarithm of the evidence that rises and falls are not equally likely.

    The likelihood of the discordant pairs, averaged over their chance of a rise with Jeffreys' Beta(1/2, 1/2), over
    that of a fair coin: two-sided, and free of the order of the pairs (Robbins 1970, Annals of Mathematical Statistics
    41:1397). It reaches 1/a at any time with a probability of at most a where the coin is fair.

    Args:
        rose: how many pairs rose so far; of any shape.
        fell: how many fell, of the same shape.

    """
    rose, fell = np.asarray(rose, dtype=np.float64), np.asarray(fell, dtype=np.float64)
    found: Floats = betaln(rose + 0.5, fell + 0.5) - betaln(0.5, 0.5) + (rose + fell) * math.log(2)
    return found


def log_e_shift(changes: ArrayLike, most: float) -> Floats:
    """Return the logarithm of the evidence that changes are not 0 in the mean: half of it bets on either direction.

    Args:
        changes: one a unit, between -`most` and `most`, units along the last axis; a cluster's change is the sum of
            those of its cases.
        most: the largest change possible, above 0.

    Returns:
        The evidence of all units, without the last axis; see `log_e_mean`.

    """
    shares = (np.asarray(changes, dtype=np.float64) / most + 1) / 2
    up, down = (log_e_mean(part, 1.0, 0.5, path=False) for part in (shares, 1 - shares))
    found: Floats = np.logaddexp(up, down) - math.log(2)
    return found
