"""Before and after change places: Stuart and Maxwell's statistic of label shares, and means of clustered cases."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["PERMUTATIONS", "clustered_p", "homogeneity_p", "stuart_maxwell"]

PERMUTATIONS: Final = 10_000
_AT_ONCE: Final = 500
_ROUNDING: Final = 1e-9


def stuart_maxwell(before: NDArray[np.int64], after: NDArray[np.int64], labels: int) -> float:
    """Return the statistic d' V^+ d of marginal homogeneity (Stuart 1955, Maxwell 1970); 0 where nothing differs.

    Args:
        before: the label of each case, as 0 .. `labels` - 1.
        after: the same cases' labels.
        labels: how many there are.

    """
    change = np.eye(labels)[after] - np.eye(labels)[before]
    return float(change.sum(0) @ _inverse(change) @ change.sum(0))


def _inverse(change: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the pseudo-inverse of the null covariance of the marginal differences."""
    inverse: NDArray[np.float64] = np.asarray(np.linalg.pinv(change.T @ change, hermitian=True), dtype=np.float64)
    return inverse


def homogeneity_p(
    before: NDArray[np.int64], after: NDArray[np.int64], clusters: Sequence[Hashable], *, labels: int, seed: int
) -> float:
    """Return the p-value of the statistic when before and after change places, cluster by cluster.

    The permutation is exact where before and after are alike, however few cases are discordant; chi square is not.
    Changing places leaves the covariance as it is.
    """
    change = np.eye(labels)[after] - np.eye(labels)[before]
    return _exchanged(change, clusters, _inverse(change), seed=seed)


def clustered_p(changes: Sequence[float], clusters: Sequence[Hashable], *, seed: int) -> float:
    """Return the two-sided p-value of a mean change when before and after change places, cluster by cluster.

    It is exact with few clusters, too, where the t test of 8 clusters of shares finds 5.9 % at 5 %.
    """
    return _exchanged(np.array(changes, dtype=np.float64)[:, None], clusters, np.ones((1, 1)), seed=seed)


def _exchanged(
    change: NDArray[np.float64], clusters: Sequence[Hashable], inverse: NDArray[np.float64], *, seed: int
) -> float:
    """Return how often the quadratic form of the summed changes is at least what it is, under random signs."""
    keys = {key: place for place, key in enumerate(dict.fromkeys(clusters))}
    sums = np.zeros((len(keys), change.shape[1]))
    np.add.at(sums, [keys[key] for key in clusters], change)
    total = sums.sum(0)
    observed = float(total @ inverse @ total)
    sums = _in_order(sums[np.any(sums != 0, axis=1)])
    random, extreme = np.random.default_rng(seed), 0
    for _ in range(PERMUTATIONS // _AT_ONCE):
        signs = random.integers(0, 2, size=(_AT_ONCE, len(sums)), dtype=np.int8) * 2 - 1
        drawn = signs @ sums
        statistics = np.einsum("bi,ij,bj->b", drawn, inverse, drawn)
        extreme += int(np.sum(statistics >= observed * (1 - _ROUNDING) - _ROUNDING))
    return (1 + extreme) / (1 + PERMUTATIONS)


def _in_order(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows whose first entry is positive, sorted: neither the order of cases nor that of runs is to matter."""
    first = np.take_along_axis(sums, np.argmax(sums != 0, axis=1)[:, None], axis=1)
    positive = sums * np.sign(first)
    ordered: NDArray[np.float64] = positive[np.lexsort(positive.T)]
    return ordered
