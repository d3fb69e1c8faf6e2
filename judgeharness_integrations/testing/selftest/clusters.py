"""Data in which items of one cluster resemble each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["cluster_effects", "clustered_hits", "equal_clusters"]


def equal_clusters(clusters: int, size: int, *, large: int = 0) -> NDArray[np.intp]:
    """Return (items,) the cluster of each of `clusters` x `size` items, and of one more cluster of `large`."""
    return np.repeat(np.arange(clusters + 1), [*[size] * clusters, large])


def clustered_hits(
    generator: np.random.Generator,
    *,
    rate: float,
    correlation: float,
    clusters: int,
    size: int,
    replicates: int,
    large: int = 0,
) -> NDArray[np.bool_]:
    """Return (replicates, items) of hits whose rate varies by cluster (beta-binomial), with this intra-correlation."""
    spread = (1 - correlation) / correlation
    rates = generator.beta(rate * spread, (1 - rate) * spread, size=(replicates, clusters + (large > 0)))
    keys = equal_clusters(clusters, size, large=large)
    hits: NDArray[np.bool_] = generator.random((replicates, len(keys))) < rates[:, keys]
    return hits


def cluster_effects(
    generator: np.random.Generator, *, correlation: float, clusters: int, size: int, replicates: int
) -> NDArray[np.float64]:
    """Return (replicates, items) of standard normal numbers with this correlation within clusters."""
    common = np.repeat(generator.standard_normal((replicates, clusters)), size, axis=1)
    own = generator.standard_normal((replicates, clusters * size))
    found: NDArray[np.float64] = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    return found
