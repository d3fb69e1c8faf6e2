"""Intervals and tests behind a check of a judge: of shares, and of flips beyond those under repetition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.checking.statistics.exact import above_test, excess_test
from judgeharness_integrations.checking.statistics.intervals import clopper_pearson, excess_interval
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

__all__ = ["EXCESSES"]

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
