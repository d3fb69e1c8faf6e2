"""Data in which items of one cluster resemble each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["cluster_effects", "clustered_hits", "equal_clusters"]


def equal_clusters(clusters: int, size: int) -> NDArray[np.intp]:
    """Return (items,) the cluster of each of `clusters` x `size` items."""
    return np.repeat(np.arange(clusters), size)


def clustered_hits(
    generator: np.random.Generator, *, rate: float, correlation: float, clusters: int, size: int, replicates: int
) -> NDArray[np.bool_]:
    """Return (replicates, items) of hits whose rate varies by cluster (beta-binomial), with this intra-correlation."""
    spread = (1 - correlation) / correlation
    rates = generator.beta(rate * spread, (1 - rate) * spread, size=(replicates, clusters))
    hits: NDArray[np.bool_] = generator.random((replicates, clusters * size)) < np.repeat(rates, size, axis=1)
    return hits


def cluster_effects(
    generator: np.random.Generator, *, correlation: float, clusters: int, size: int, replicates: int
) -> NDArray[np.float64]:
    """Return (replicates, items) of standard normal numbers with this correlation within clusters."""
    common = np.repeat(generator.standard_normal((replicates, clusters)), size, axis=1)
    own = generator.standard_normal((replicates, clusters * size))
    found: NDArray[np.float64] = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    return found
