"""Intervals of corrected rates, on planted rates, sensitivities and specificities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.calibration.corrected import (
    RoganGladen,
    Sample,
    corrected_rate,
    corrected_rate_of_counts,
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
from judgeharness_integrations.testing.selftest.proportions import clustered_hits, equal_clusters

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


def _recommended(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    """Simulate what `corrected_rate` recommends for labels that are a random sample."""
    n, labels, rate = int(point["n"]), int(point["labels"]), point["rate"]
    yes, no = point["sensitivity"], point["specificity"]
    cells = [rate * yes, rate * (1 - yes), (1 - rate) * (1 - no), (1 - rate) * no]
    drawn = generator.multinomial(labels, cells, size=replicates)
    passed = generator.binomial(n - labels, cells[0] + cells[2], size=replicates)

    def interval(*counts: int) -> Interval:
        hit, missed, wrong, right, rest = counts
        best = corrected_rate_of_counts(
            judged_passes=rest,
            judged_total=n - labels,
            sensitivity=(hit, hit + missed),
            specificity=(right, right + wrong),
            labels_are="random",
        ).best
        return None if best is None else best.interval

    low, high = each_distinct([*drawn.T, passed], interval)
    return low, high, rate


def _abstaining(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    """Simulate it for a judge that abstains more often on negative items."""
    n, labels, rate = int(point["n"]), int(point["labels"]), point["rate"]

    def drawn() -> Interval:
        truth = generator.random(n) < rate
        passed = generator.random(n) < np.where(truth, point["sensitivity"], 1 - point["specificity"])
        silent = generator.random(n) < np.where(truth, 0.1, point["abstains"])
        judged = [None if no else bool(yes) for yes, no in zip(passed, silent, strict=True)]
        known: list[bool | None] = [*truth[:labels].tolist(), *[None] * (n - labels)]
        best = corrected_rate(judged=judged, labels=known, labels_are="random").best
        return None if best is None else best.interval

    low, high = each(drawn() for _ in range(replicates))
    return low, high, rate


_MIXES = grid(n=(1000,), m=(50, 200), rate=(0.1, 0.5, 0.8), sensitivity=(0.7, 0.9), specificity=(0.7, 0.9))
_RATES = (0.3, 0.6)
_SAMPLES = (
    *grid(n=(500,), labels=(50, 150), rate=_RATES, sensitivity=(0.9,), specificity=(0.6, 0.9)),
    *grid(n=(400,), size=(4,), correlation=(0.3,), labels=(120,), rate=_RATES, sensitivity=(0.9,), specificity=(0.8,)),
)
_ALL_RATES = (
    *grid(n=(1000,), labels=(100,), rate=(0.05, 0.5), sensitivity=(0.9,), specificity=(0.9,)),
    *grid(n=(2000,), labels=(200,), rate=(0.02, 0.98), sensitivity=(0.9,), specificity=(0.98,)),
    *grid(n=(2000,), labels=(100, 500), rate=(0.02, 0.98), sensitivity=(0.98,), specificity=(0.98,)),
    *grid(n=(1000,), labels=(100, 250), rate=(0.05, 0.3, 0.9), sensitivity=(0.6,), specificity=(0.6, 0.98)),
)
CORRECTED_RATES: tuple[Check, ...] = (
    IntervalCheck(
        name="corrected rate: recommended for a random sample of labels",
        points=_ALL_RATES,
        simulate=_recommended,
        fast=4,
    ),
    IntervalCheck(
        name="corrected rate: recommended, the judge abstains",
        points=grid(
            n=(600,), labels=(150,), rate=(0.05, 0.5, 0.95), sensitivity=(0.9,), specificity=(0.8,), abstains=(0.3,)
        ),
        simulate=_abstaining,
        fast=1,
        fast_replicates=200,
    ),
    IntervalCheck(
        name="corrected rate: Rogan-Gladen, interval of Lee et al. and Fieller",
        points=_MIXES,
        simulate=_other_mix(lambda found: found.interval),
        fast=3,
    ),
    IntervalCheck(
        name="corrected rate: Rogan-Gladen, delta interval",
        points=_MIXES,
        simulate=_other_mix(lambda found: found.delta),
        fast=3,
        note="reports withhold it where one of its six counts is below ten",
    ),
    IntervalCheck(name="corrected rate: PPI++", points=_SAMPLES, simulate=_random(_ppi), fast=3),
    IntervalCheck(
        name="corrected rate: double sampling (Tenenbein)", points=_SAMPLES, simulate=_random(_tenenbein), fast=3
    ),
)
