"""Chances of counts: binomial and beta-binomial, on the scale of the logarithm, so that none of them overflows."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln, xlog1py, xlogy

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
