"""Intervals of proportions and their differences on planted rates, and the exact test of a change."""

from __future__ import annotations

import numpy as np

from judgeharness_integrations.aggregation.statistics import sign_test, wilson
from judgeharness_integrations.calibration.paired import tango_interval
from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.testing.selftest.check import (
    Check,
    Floats,
    IntervalCheck,
    Point,
    SizeCheck,
    each,
    each_distinct,
    grid,
)
from judgeharness_integrations.testing.selftest.clusters import clustered_hits, equal_clusters

__all__ = ["PROPORTIONS"]


def _wilson(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    trials = int(point["n"])
    successes = generator.binomial(trials, point["rate"], size=replicates)
    low, high = each_distinct([successes], lambda count: wilson(count, trials))
    return low, high, point["rate"]


def _clustered(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    clusters, size, large = (int(point.get(name, 0)) for name in ("clusters", "size", "large"))
    hits = clustered_hits(
        generator,
        rate=point["rate"],
        correlation=point["correlation"],
        clusters=clusters,
        size=size,
        replicates=replicates,
        large=large,
    )
    keys = equal_clusters(clusters, size, large=large).tolist()
    rates = (Rate.over(row, keys) for row in hits.tolist())
    low, high = each(None if rate is None else (rate.low, rate.high) for rate in rates)
    return low, high, point["rate"]


def _tango(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    n, gained, lost = int(point["n"]), point["gained"], point["lost"]
    changed = generator.multinomial(n, [gained, lost, 1 - gained - lost], size=replicates)
    low, high = each_distinct([changed[:, 0], changed[:, 1]], lambda up, down: tango_interval(up, down, n))
    return low, high, gained - lost


def _sign_test(point: Point, replicates: int, generator: np.random.Generator) -> Floats:
    """Pairs whose two outcomes are as likely to change either way."""
    either = point["discordant"] / 2
    changed = generator.multinomial(int(point["n"]), [either, either, 1 - 2 * either], size=replicates)
    pairs, inverse = np.unique(changed[:, :2], axis=0, return_inverse=True)
    values = [sign_test(int(one), int(other)) for one, other in pairs]
    tested = np.array([np.nan if value is None else value for value in values])
    found: Floats = tested[inverse.reshape(-1)]
    return found


PROPORTIONS: tuple[Check, ...] = (
    IntervalCheck(
        name="rates: Wilson interval",
        points=grid(n=(20, 50, 200, 1000), rate=(0.5, 0.6, 0.7, 0.8, 0.9, 0.95)),
        simulate=_wilson,
        fast=8,
        note="swings with n and rate, as every interval of a count: exactly 0.909 at n=50, rate=0.99",
    ),
    IntervalCheck(
        name="rates: Wilson interval of clustered items",
        points=grid(clusters=(20, 50), size=(4,), correlation=(0.1, 0.4), rate=(0.5, 0.7, 0.9)),
        simulate=_clustered,
        fast=3,
    ),
    IntervalCheck(
        name="rates: Wilson interval of clusters of unequal size",
        points=(
            *grid(clusters=(9,), size=(1,), large=(50,), correlation=(0.4,), rate=(0.5, 0.8)),
            *grid(clusters=(20,), size=(1,), large=(20,), correlation=(0.4,), rate=(0.5, 0.8)),
            *grid(clusters=(30,), size=(2,), large=(30,), correlation=(0.4,), rate=(0.5, 0.8)),
        ),
        simulate=_clustered,
        fast=1,
        conservative=True,
        note="one large cluster among small ones tells little",
    ),
    IntervalCheck(
        name="drift: Tango interval of a paired difference",
        points=(
            *grid(n=(50, 200), gained=(0.05, 0.2), lost=(0.05, 0.2)),
            *grid(n=(50, 200), gained=(0.01,), lost=(0.01, 0.1)),
        ),
        simulate=_tango,
        fast=4,
    ),
    SizeCheck(
        name="drift, position bias: exact sign test (McNemar)",
        points=grid(n=(40, 200, 1000), discordant=(0.1, 0.3, 0.6)),
        simulate=_sign_test,
        fast=9,
        note="exact, so it rejects less often than its level",
    ),
)
