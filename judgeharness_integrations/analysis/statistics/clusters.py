"""Items that belong together: what they are worth, their sums, and standard errors that know of it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def effective_number(sizes: Iterable[float]) -> float:
    """Return how many clusters of one size clusters of these sizes weigh as much as: (sum s)^2 / sum s^2 (Kish 1965).

    Args:
        sizes: items, or any weights, a cluster; at least one above 0.

    """
    sizes = list(sizes)
    return sum(sizes) ** 2 / sum(size * size for size in sizes)


def effect_of_copies(sizes: Iterable[float]) -> float:
    """Return the design effect of clusters whose items are copies of each other: sum s^2 / sum s (Kish 1965)."""
    sizes = list(sizes)
    return sum(size * size for size in sizes) / sum(sizes)


def cluster_degrees(sizes: Iterable[float]) -> float:
    """Return the degrees of freedom of clusters: one less than their `effective_number`.

    That is G - 1 for G clusters of one size. One large cluster among single items tells hardly more than one: with
    G - 1, Wilson's interval over nine single items and a cluster of 50 covers 67 %.
    """
    return effective_number(sizes) - 1


def cluster_sums(values: NDArray[np.float64], clusters: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return (clusters, columns): the sums of values (items, columns) over each cluster.

    Args:
        values: (items, columns), added in their order.
        clusters: (items,) the place of each item's cluster, from 0 on.

    """
    import numpy as np  # noqa: PLC0415 - what counts alone needs it not

    sums = np.zeros((int(clusters.max()) + 1, values.shape[1]))
    np.add.at(sums, clusters, values)
    return sums


def clustered_error(
    influence: Sequence[float], clusters: Sequence[Hashable], *, negligible: float = 1e-12
) -> tuple[float, float] | None:
    """Return the standard error of a mean of dependent items, and its degrees of freedom.

    The linearised (sandwich) variance G/(G-1) * sum over clusters of (sum of the influences)^2 / n^2 (CR1; Liang and
    Zeger 1986), with the degrees of freedom of `cluster_degrees`. Where every item is its own cluster it is the
    variance of a mean. With influence values of a smooth statistic (the derivative at each item) it is the limit of the
    cluster bootstrap.

    Args:
        influence: one a item, in the statistic's units; they sum to zero.
        clusters: which cluster each item is in.
        negligible: rounding error, in the same units.

    Returns:
        None with fewer than two clusters, or where nothing varies: such a sample cannot tell an error.

    """
    parts: dict[Hashable, list[float]] = {}
    for key, value in zip(clusters, influence, strict=True):
        parts.setdefault(key, []).append(value)
    count = len(parts)
    total = math.fsum(math.fsum(values) ** 2 for values in parts.values())
    error = math.sqrt(total) / len(influence) if influence else 0.0
    if error <= negligible:
        return None
    return (error * math.sqrt(count / (count - 1)), cluster_degrees(map(len, parts.values()))) if count > 1 else None
