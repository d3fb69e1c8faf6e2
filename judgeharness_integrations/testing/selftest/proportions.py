"""Intervals and tests of shares, of their differences and of flips beyond those under repetition; clustered data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.checking.statistics import excess_interval, excess_test
from judgeharness_integrations.analysis.statistics.paired import tango_interval
from judgeharness_integrations.analysis.statistics.proportions import above_test, clopper_pearson, sign_test, wilson
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
_STEADY = 0.5  # share of cases about which even a noisy judge always says the same


def _clopper_pearson(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    n = int(point["n"])
    hits = generator.binomial(n, point["rate"], size=replicates)
    low, high = each_distinct([hits], lambda count: clopper_pearson(count, n))
    return low, high, point["rate"]


def _of_shares(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    """Cases of several samples each, whose rates differ: half of them never have the event."""
    n, samples, rate = int(point["n"]), int(point["samples"]), point["rate"]
    rates = np.where(generator.random((replicates, n)) < _STEADY, 0.0, rate / (1 - _STEADY))
    hits = generator.binomial(samples, rates).sum(axis=1)
    low, high = each_distinct([hits], lambda count: clopper_pearson(count / samples, n))
    return low, high, rate


def _flips(point: Point, replicates: int, generator: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return (replicates, n) how many samples flip under the change and as they are.

    Samples of a case flip at a rate of its own, `noise` on average; the change flips a share of cases for good, so that
    `effect` is the excess.
    """
    n, probed, base, noise = int(point["n"]), int(point["probed"]), int(point["base"]), point["noise"]
    rates = np.where(generator.random((replicates, n)) < _STEADY, 0.0, noise / (1 - _STEADY))
    works = generator.random((replicates, n)) < point.get("effect", 0.0) / (1 - noise)
    changed = np.where(works, probed, generator.binomial(probed, rates))
    return changed, generator.binomial(base, rates)


def _excess(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    changed, repeated = _flips(point, replicates, generator)
    pairs = zip(changed / point["probed"], repeated / point["base"], strict=True)
    low, high = each(excess_interval(*pair) for pair in pairs)
    return low, high, point["effect"]


def _excess_test(point: Point, replicates: int, generator: np.random.Generator) -> Floats:
    changed, repeated = _flips(point, replicates, generator)
    probed, base = (np.full(int(point["n"]), int(point[name])) for name in ("probed", "base"))
    return np.array([excess_test(one, probed, other, base) for one, other in zip(changed, repeated, strict=True)])


def _above_test(point: Point, replicates: int, generator: np.random.Generator) -> Floats:
    n = int(point["n"])
    hits = generator.binomial(n, point["share"], size=replicates)
    return np.array([above_test(count, n, point["share"]) for count in hits.tolist()])


EXCESSES: tuple[Check, ...] = (
    IntervalCheck(
        name="check: Clopper-Pearson interval",
        points=grid(n=(20, 50, 200), rate=(0.05, 0.1, 0.3, 0.5)),
        simulate=_clopper_pearson,
        fast=6,
        conservative=True,
        note="exact: it never covers less than it says",
    ),
    IntervalCheck(
        name="check: Clopper-Pearson interval of cases with several samples",
        points=grid(n=(20, 50, 200), samples=(3,), rate=(0.05, 0.1, 0.3)),
        simulate=_of_shares,
        fast=3,
        conservative=True,
        note="the mean of a case's samples varies less than one of them",
    ),
    IntervalCheck(
        name="check: flips beyond those under repetition",
        points=(
            *grid(n=(50, 20, 200), noise=(0.1, 0.3), probed=(1,), base=(2,), effect=(0.0, 0.1, 0.4)),
            *grid(n=(20, 50, 200), noise=(0.0,), probed=(1,), base=(2,), effect=(0.1, 0.3)),
            *grid(n=(50,), noise=(0.1, 0.3), probed=(3,), base=(1,), effect=(0.0, 0.3)),
        ),
        simulate=_excess,
        fast=2,
        fast_replicates=200,
    ),
    SizeCheck(
        name="check: exact test of flips beyond those under repetition",
        points=(
            *grid(n=(20, 50, 200), noise=(0.05, 0.1, 0.3), probed=(1,), base=(2,)),
            *grid(n=(50,), noise=(0.3,), probed=(3,), base=(1,)),
        ),
        simulate=_excess_test,
        fast=2,
        fast_replicates=200,
        note="exact, so it rejects less often than its level",
    ),
    SizeCheck(
        name="check: exact test of a rate above the tolerance",
        points=grid(n=(20, 50, 200), share=(0.05, 0.1, 0.2)),
        simulate=_above_test,
        fast=3,
        note="exact, so it rejects less often than its level",
    ),
)
