"""The same cases measured twice: the difference, its interval, its test, and what the test could have found."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..statistics import POWER
from ..statistics.means import cluster_sums, clustered_error, t_interval, t_p
from ..statistics.paired import (
    MOST_ITEMS,
    bisected,
    mcnemar_detectable,
    mcnemar_items,
    mcnemar_p,
    mcnemar_power,
    tango_interval,
    with_zero,
)
from ..statistics.proportions import sign_test, unchanged_bound

_FAR: Final = 7.0  # standard errors from zero, where the noncentral t of scipy turns into NaN here and there
_HALVINGS: Final = 40


@dataclass(frozen=True, kw_only=True)
class PowerBasis:
    """What the power of the test of a difference follows from.

    Args:
        n: paired cases.
        level: what the test has to reach by itself within the report's family.
        exchange: McNemar's test: the share of cases that changes in either direction all the same.
        error: t-test: the standard error of the difference, infinite where so few clusters can show nothing; None for
            McNemar's test.
        degrees: t-test: its degrees of freedom.
        span: what a drop of 1 is, in units of the difference: 1 for shares, the range of the scores for means.

    """

    n: int
    level: float
    exchange: float = 0.0
    error: float | None = None
    degrees: float = 1.0
    span: float = 1.0

    def power(self, drop: float) -> float:
        """Return the probability that a drop (or rise) of this share of the span is found."""
        if self.error is None:
            exchange = min(self.exchange, (1 - drop) / 2)
            return mcnemar_power(self.n, drop, exchange=exchange, alpha=self.level, mid=True)
        return self._t_power(drop * self.span / self.error)

    def _t_power(self, distance: float) -> float:
        """Return the power of the t-test where the truth lies so many standard errors from zero.

        Far from zero by the normal approximation of the noncentral t (Johnson and Welch 1940).
        """
        from scipy.special import nctdtr, ndtr, stdtrit  # noqa: PLC0415 - a heavy import

        critical = float(stdtrit(self.degrees, 1 - self.level / 2))
        if distance > _FAR:
            spread = math.sqrt(1 + critical * critical / (2 * self.degrees))
            return float(ndtr((distance - critical * (1 - 1 / (4 * self.degrees))) / spread))
        return float(1 - nctdtr(self.degrees, distance, critical) + nctdtr(self.degrees, distance, -critical))

    def detectable(self) -> float | None:
        """Return the smallest change, in units of the difference, that is found with 80 % power; None if none is."""
        if self.error is None:
            return mcnemar_detectable(self.n, exchange=self.exchange, alpha=self.level, mid=True)
        low, high = 0.0, self.span / self.error
        if self._t_power(high) < POWER:
            return None
        return bisected(lambda distance: self._t_power(distance) < POWER, low, high, steps=_HALVINGS)[1] * self.error

    def cases(self, drop: float) -> int | None:
        """Return how many cases find a change of this share of the span with 80 % power; None beyond 100,000.

        Means: by normal approximation, from the spread that was seen.
        """
        if self.error is None:
            return mcnemar_items(drop, exchange=self.exchange, alpha=self.level, mid=True)
        from scipy.special import ndtri  # noqa: PLC0415 - a heavy import

        if math.isinf(self.error):
            return None
        z = float(ndtri(1 - self.level / 2) + ndtri(POWER))
        found = max(2, math.ceil(self.n * (z * self.error / (drop * self.span)) ** 2))
        return found if found <= MOST_ITEMS else None


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


def exchanged_mean(
    changes: Sequence[float], clusters: Sequence[Hashable], *, span: float, seed: int, level: float = 0.05
) -> tuple[float, tuple[float, float]]:
    """Return the two-sided p-value of a mean change when before and after change places by cluster, and its interval.

    The interval is what the same exchange does not reject once the change is taken off every case, so that 0 lies
    outside it exactly where p is below the level. An exchange leaves a change possible that lies between the mean of
    the clusters it turns and that of the others (Hartigan 1969). The test is exact with few clusters, too, where the
    t test of 8 clusters of shares finds 5.9 % at 5 %; of fewer than six the interval is the whole range.

    Args:
        changes: one a case.
        clusters: which cluster each case is in.
        span: the largest change there can be.
        seed: of the exchanges.
        level: of the interval, 1 - its confidence.

    """
    sums = _summed(np.stack([np.array(changes, dtype=np.float64), np.ones(len(changes))], axis=1), clusters)
    total, cases = sums.sum(0)
    way = -1.0 if total < 0 else 1.0  # neither the order of cases nor that of runs is to matter
    sums = np.stack([sums[:, 0] * way, sums[:, 1]], axis=1)
    sums = sums[np.lexsort(sums.T)]
    random, ends = np.random.default_rng(seed), []
    for _ in range(PERMUTATIONS // _AT_ONCE):
        change, size = (random.integers(0, 2, size=(_AT_ONCE, len(sums)), dtype=np.int8) @ sums).T
        whole = (size == 0) | (size == cases)
        turned, others = change / np.where(whole, 1, size), (way * total - change) / np.where(whole, 1, cases - size)
        ends.append(np.where(whole, [[-span], [span]], [np.minimum(turned, others), np.maximum(turned, others)]))
    low, high = np.concatenate(ends, axis=1)
    low, high = (np.where(np.abs(end) <= _ROUNDING * span, 0.0, end) for end in (low, high))
    p = (1 + int(np.sum((low <= 0) & (high >= 0)))) / (1 + PERMUTATIONS)
    rejecting = math.floor(level * (1 + PERMUTATIONS)) - 1  # exchanges that may leave possible what is rejected
    found = float(np.sort(low)[rejecting]), float(np.sort(high)[-1 - rejecting])
    return p, found if way > 0 else (-found[1], -found[0])


def _exchanged(
    change: NDArray[np.float64], clusters: Sequence[Hashable], inverse: NDArray[np.float64], *, seed: int
) -> float:
    """Return how often the quadratic form of the summed changes is at least what it is, under random signs."""
    sums = _summed(change, clusters)
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


def _summed(values: NDArray[np.float64], clusters: Sequence[Hashable]) -> NDArray[np.float64]:
    """Return (clusters, columns): the sums of (cases, columns) over each cluster."""
    keys = {key: place for place, key in enumerate(dict.fromkeys(clusters))}
    return cluster_sums(values, np.array([keys[key] for key in clusters], np.intp))


def _in_order(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows whose first entry is positive, sorted: neither the order of cases nor that of runs is to matter."""
    first = np.take_along_axis(sums, np.argmax(sums != 0, axis=1)[:, None], axis=1)
    positive = sums * np.sign(first)
    ordered: NDArray[np.float64] = positive[np.lexsort(positive.T)]
    return ordered


Measure: TypeAlias = Literal[
    "positive_rate",
    "right_of_labelled",
    "mean_score",
    "mean_error",
    "label_shares",
    "coverage",
    "abstention",
    "consistency_rate",
]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One measure of `n` paired cases, before and after.

    `difference` is after - before with its 95 % interval (`low`, `high`), in the measure's units: a share, or a score.
    `rose` and `fell` count cases whose value did (of label shares, both are the cases whose label changed). `of` is the
    label a rate is of. `p` is two-sided; `method` names test and interval, which holds 0 exactly where p is above .05
    (where all changes are equal, at least there). `clusters` is the number of clusters, None where every case stands
    for itself. What cannot be told is None.
    """

    measure: Measure
    n: int
    before: float | None
    after: float | None
    difference: float | None
    low: float | None
    high: float | None
    rose: int
    fell: int
    p: float | None
    method: str
    of: str | None = None
    clusters: int | None = None
    error: float | None = None
    degrees: float | None = None
    span: float = 1.0


def compared_shares(
    measure: Measure,
    before: Sequence[bool],
    after: Sequence[bool],
    clusters: Sequence[Hashable],
    *,
    of: str | None = None,
    seed: int = 0,
) -> Difference:
    """Compare two shares of the same cases: McNemar's mid-p test and Tango's score interval.

    Where the test does not reject 0 the interval reaches to it; where the test does, Tango's does not hold 0. Where
    cases share clusters they are compared as means are, within what shares can differ by.
    """
    n, ones, others = len(before), list(map(float, before)), list(map(float, after))
    if len(set(clusters)) < n:
        found = compared_means(measure, ones, others, clusters, seed=seed)
        ends = [None if end is None else min(1.0, max(-1.0, end)) for end in (found.low, found.high)]
        return replace(found, of=of, low=ends[0], high=ends[1])
    rose = sum(now and not was for was, now in zip(before, after, strict=True))
    fell = sum(was and not now for was, now in zip(before, after, strict=True))
    p = mcnemar_p(rose, fell) if n else None
    low, high = (None, None) if p is None else with_zero(tango_interval(rose, fell, n), p)
    return Difference(
        measure=measure,
        n=n,
        before=sum(before) / n if n else None,
        after=sum(after) / n if n else None,
        difference=(rose - fell) / n if n else None,
        low=low,
        high=high,
        rose=rose,
        fell=fell,
        p=p,
        method="McNemar's test (mid-p), Tango's score interval",
        of=of,
    )


def compared_means(
    measure: Measure,
    before: Sequence[float],
    after: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    span: float = 1.0,
    seed: int = 0,
) -> Difference:
    """Compare two means of the same cases by the paired t test.

    Where cases share clusters, the interval is that of the clustered error, and in the test before and after change
    places, cluster by cluster; where the two say otherwise of 0, the end next to it is what the exchange leaves
    possible. Where all changes are equal there is no error: the interval is then what so few cases cannot rule out,
    and the test a sign test of the clusters.

    Args:
        measure: what the values are.
        before: one value a case.
        after: one value a case.
        clusters: which cluster each case is in.
        span: the range of the scale, in its units.
        seed: of permutations.

    """
    n, count = len(before), len(set(clusters))
    changes = [now - was for was, now in zip(before, after, strict=True)]
    mean = math.fsum(changes) / n if n else None
    facts: dict[str, Any] = {
        "measure": measure,
        "n": n,
        "before": math.fsum(before) / n if n else None,
        "after": math.fsum(after) / n if n else None,
        "difference": mean,
        "rose": sum(change > 0 for change in changes),
        "fell": sum(change < 0 for change in changes),
        "clusters": count if count < n else None,
        "span": span,
    }
    if mean is None:
        return Difference(**facts, low=None, high=None, p=None, method="none: no case has both values")
    found = clustered_error([change - mean for change in changes], clusters, negligible=1e-12 * span)
    if found is None or found[1] <= 0:
        unseen = unchanged_bound(count) * span
        p = 1.0 if abs(mean) <= 1e-12 * span else sign_test(0, count) or 0.0
        low, high = with_zero((mean - unseen, mean + unseen), p)
        return Difference(**facts, low=low, high=high, p=p, method="sign test; all changes are equal")
    error, degrees = found
    (low, high), p = t_interval(mean, error, degrees), t_p(mean / error, degrees)
    method = "paired t test and interval"
    if count < n:
        p, (least, most) = exchanged_mean(changes, clusters, span=span, seed=seed)
        if (least <= 0 <= most) != (low <= 0 <= high):
            low, high = (least, high) if mean > 0 else (low, most)
        method = "permutation of clusters, t interval of clustered cases"
    return Difference(
        **facts,
        low=low,
        high=high,
        p=p,
        method=method,
        error=error,
        degrees=degrees,
    )


def least_p(clusters: int) -> float:
    """Return the smallest p of a test in which so many clusters change places, each as a whole."""
    return 2.0 ** (1 - clusters)


def power_basis(found: Difference, *, level: float, significant: bool) -> PowerBasis | None:
    """Return what the power of a difference's test follows from; None where its changes show no spread.

    The exchange of McNemar's test is half of the discordant pairs where nothing was found, else the smaller side: then
    the larger one holds the change itself.
    """
    if found.error is not None and found.degrees is not None:
        possible = found.clusters is None or least_p(found.clusters) <= level
        error = found.error if possible else math.inf
        return PowerBasis(n=found.n, level=level, error=error, degrees=found.degrees, span=found.span)
    if found.method.startswith("McNemar") and found.n:
        exchange = min(found.rose, found.fell) if significant else (found.rose + found.fell) / 2
        return PowerBasis(n=found.n, level=level, exchange=exchange / found.n)
    return None
