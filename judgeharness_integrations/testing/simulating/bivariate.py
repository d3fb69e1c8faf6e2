"""The bivariate normal distribution: how two calls about one case go together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["bivariate_cdf"]

Floats = NDArray[np.float64]

_BEYOND = 40.0  # no normal number lies there
_TINY = 1e-300
_NEARLY_ONE = 1 - 1e-12


def bivariate_cdf(first: Floats, second: Floats, correlation: float) -> Floats:
    """Return P(X < first, Y < second) of standard normal X and Y, by Owen's T function (Owen 1956, eq. 3.1).

    Args:
        first: bounds of X, any shape; infinite ones are allowed.
        second: bounds of Y, of a shape that goes with it.
        correlation: of X and Y, from 0 to 1.

    """
    from scipy.special import ndtr, owens_t  # noqa: PLC0415 - takes a quarter of a second

    h, k = (_finite(bounds) for bounds in (first, second))
    if correlation > _NEARLY_ONE:
        same: Floats = ndtr(np.minimum(h, k))
        return same
    rest = (1 - correlation * correlation) ** 0.5
    ahead = (k - correlation * h) / (h * rest), (h - correlation * k) / (k * rest)
    apart = np.where(np.signbit(h) == np.signbit(k), 0.0, 0.5)
    found: Floats = (ndtr(h) + ndtr(k)) / 2 - owens_t(h, ahead[0]) - owens_t(k, ahead[1]) - apart
    return np.clip(found, 0.0, 1.0)


def _finite(bounds: Floats) -> Floats:
    clipped = np.clip(bounds, -_BEYOND, _BEYOND)
    return np.where(np.abs(clipped) < _TINY, _TINY, clipped)
