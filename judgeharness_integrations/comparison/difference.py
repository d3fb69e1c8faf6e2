"""The same cases measured twice: difference after - before, its interval and its test."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from judgeharness_integrations.comparison.homogeneity import exchanged_mean
from judgeharness_integrations.comparison.power import PowerBasis
from judgeharness_integrations.statistics.clusters import clustered_error
from judgeharness_integrations.statistics.means import t_interval, t_p
from judgeharness_integrations.statistics.paired import mcnemar_p, tango_interval, with_zero
from judgeharness_integrations.statistics.proportions import sign_test, unchanged_bound

__all__ = ["Difference", "Measure", "compared_means", "compared_shares", "least_p", "power_basis"]

Measure: TypeAlias = Literal[
    "positive_rate",
    "accuracy",
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
