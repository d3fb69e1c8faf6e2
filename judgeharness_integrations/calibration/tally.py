"""Trials counted by cluster, one by one, and the interval of their rate at any time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from judgeharness_integrations.aggregation.statistics import wilson, wilson_of
from judgeharness_integrations.calibration.estimate import Estimate, cluster_degrees, clustered_error, t_quantile

__all__ = ["Tally", "share_estimate"]


def share_estimate(
    value: float, influence: Sequence[float], clusters: Sequence[Hashable], *, most: float = math.inf
) -> Estimate:
    """Return a mean of shares with Wilson's interval over the number of trials its standard error is worth.

    Where nothing varies that number is the clusters'; one cluster tells nothing about others.

    Args:
        value: from 0 to 1.
        influence: how far each item moves it; see `clustered_error`.
        clusters: which cluster each item is in.
        most: trials it is worth at most.

    """
    sizes, found = Counter(clusters), clustered_error(influence, clusters)
    count = len(sizes)
    if count == 1:
        return Estimate(value=value, low=None, high=None, n=len(influence))
    trials = count if found is None or not 0 < value < 1 else value * (1 - value) / found[0] ** 2
    low, high = wilson_of(value, min(trials, most), t_quantile(cluster_degrees(sizes.values())))
    return Estimate(value=value, low=low, high=high, n=len(influence))


class Tally:
    """Successes and trials, and the sums by cluster that the variance of their rate needs."""

    def __init__(self) -> None:
        """Start without trials."""
        self.successes = self.trials = 0
        self._hits: Counter[Hashable] = Counter()
        self._sizes: Counter[Hashable] = Counter()
        self._hits_squared = self._products = self._sizes_squared = 0

    def add(self, *, hit: bool, cluster: Hashable) -> None:
        """Count a trial."""
        hits, size = self._hits[cluster], self._sizes[cluster]
        if hit:
            self._hits_squared += 2 * hits + 1
            self._products += size
            self._hits[cluster] += 1
            self.successes += 1
        self._products += hits + hit
        self._sizes_squared += 2 * size + 1
        self._sizes[cluster] += 1
        self.trials += 1

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the rate, None without trials.

        Wilson's; where trials share clusters, with the effective number of trials n / deff and a t quantile
        with the degrees of freedom of `cluster_degrees`. deff, at least 1, is the clustered variance over that of
        independent trials (Korn and Graubard 1998). A rate of 0 or 1 shows no variance: there the trials of a cluster
        count as copies (Kish 1965). One cluster tells nothing about others.
        """
        clusters, n = len(self._sizes), self.trials
        if clusters == n:
            return wilson(self.successes, n)
        if clusters == 1:
            return 0.0, 1.0
        return wilson_of(self.successes / n, self._effective, t_quantile(n * n / self._sizes_squared - 1))

    @property
    def _effective(self) -> float:
        hits, n, clusters = self.successes, self.trials, len(self._sizes)
        if hits in {0, n}:
            return n * n / self._sizes_squared
        # n^2 times the sum over clusters of (hits - rate * size)^2, in whole numbers
        between = n * n * self._hits_squared - 2 * hits * n * self._products + hits * hits * self._sizes_squared
        if not between:
            return n
        clustered = clusters / (clusters - 1) * between / n**4
        independent = hits * (n - hits) / (n * n * (n - 1))
        return n * min(1.0, independent / clustered)
