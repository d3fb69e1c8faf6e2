"""Intervals of corrected rates, on planted rates, sensitivities and specificities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.calibration.corrected import (
    RoganGladen,
    Sample,
    ppi_plus_plus,
    rogan_gladen,
    tenenbein,
)
from judgeharness_integrations.testing.selftest.check import (
    Check,
    Floats,
    Interval,
    IntervalCheck,
    Point,
    Simulation,
    each,
    each_distinct,
    grid,
)
from judgeharness_integrations.testing.selftest.clusters import clustered_hits, equal_clusters

__all__ = ["CORRECTED_RATES"]


def _other_mix(limits: Callable[[RoganGladen], Interval]) -> Simulation:
    """Return the simulation of labels from another mix: as many positive items as others."""

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
        n, m, theta, yes, no = (point[name] for name in ("n", "m", "rate", "sensitivity", "specificity"))
        n, m = int(n), int(m)
        passed = generator.binomial(n, theta * yes + (1 - theta) * (1 - no), size=replicates)
        right1, right0 = generator.binomial(m, yes, size=replicates), generator.binomial(m, no, size=replicates)

        def interval(count: int, one: int, zero: int) -> Interval:
            found = rogan_gladen(
                judged=count / n, n=n, sensitivity=one / m, positives=m, specificity=zero / m, negatives=m
            )
            return None if found is None else limits(found)

        low, high = each_distinct([passed, right1, right0], interval)
        return low, high, theta

    return simulate


def _random(interval: Callable[[Sample], Interval]) -> Simulation:
    """Return the simulation of labels that are a random sample of the items; clustered where the point says so."""

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
        size = int(point.get("size", 1))
        n, labelled = int(point["n"]), int(point["labels"])
        truth = _truths(point, replicates, generator, size)
        hit = np.where(truth, point["sensitivity"], 1 - point["specificity"])
        judged = generator.random((replicates, n)) < hit
        keys = equal_clusters(n // size, size).tolist()
        samples = (
            Sample(
                labels=row[:labelled],
                judged=said[:labelled],
                rest=said[labelled:],
                label_clusters=keys[:labelled],
                rest_clusters=keys[labelled:],
            )
            for row, said in zip(truth, judged, strict=True)
        )
        low, high = each(map(interval, samples))
        return low, high, point["rate"]

    return simulate


def _truths(point: Point, replicates: int, generator: np.random.Generator, size: int) -> NDArray[np.bool_]:
    n, rate = int(point["n"]), point["rate"]
    if size == 1:
        alone: NDArray[np.bool_] = generator.random((replicates, n)) < rate
        return alone
    return clustered_hits(
        generator, rate=rate, correlation=point["correlation"], clusters=n // size, size=size, replicates=replicates
    )


def _ppi(sample: Sample) -> Interval:
    found = ppi_plus_plus(sample)
    return None if found is None else found.interval


def _tenenbein(sample: Sample) -> Interval:
    found = tenenbein(sample)
    return None if found is None else found.interval


_MIXES = grid(n=(1000,), m=(50, 200), rate=(0.1, 0.5, 0.8), sensitivity=(0.7, 0.9), specificity=(0.7, 0.9))
_RATES = (0.3, 0.6)
_SAMPLES = (
    *grid(n=(500,), labels=(50, 150), rate=_RATES, sensitivity=(0.9,), specificity=(0.6, 0.9)),
    *grid(n=(400,), size=(4,), correlation=(0.3,), labels=(120,), rate=_RATES, sensitivity=(0.9,), specificity=(0.8,)),
)
CORRECTED_RATES: tuple[Check, ...] = (
    IntervalCheck(
        name="corrected rate: Rogan-Gladen, interval of Lee et al.",
        points=_MIXES,
        simulate=_other_mix(lambda found: found.lee),
        fast=3,
    ),
    IntervalCheck(
        name="corrected rate: Rogan-Gladen, delta interval",
        points=_MIXES,
        simulate=_other_mix(lambda found: found.delta),
        fast=3,
    ),
    IntervalCheck(name="corrected rate: PPI++", points=_SAMPLES, simulate=_random(_ppi), fast=3),
    IntervalCheck(
        name="corrected rate: double sampling (Tenenbein)", points=_SAMPLES, simulate=_random(_tenenbein), fast=3
    ),
)
