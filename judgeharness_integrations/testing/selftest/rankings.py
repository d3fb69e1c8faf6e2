"""Intervals of a ranking: differences of judges and their Elo under the Rasch model, and what the order is worth."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import special

from judgeharness_integrations.analysis.ranking.conditionalfit import ConditionalFit
from judgeharness_integrations.analysis.ranking.contrasts import Contrast, contrasts_of, order_effect
from judgeharness_integrations.analysis.ranking.credits import Credits
from judgeharness_integrations.analysis.ranking.jointfit import ELO_POINTS, JointFit
from judgeharness_integrations.analysis.ranking.rating import Method, rate
from judgeharness_integrations.analysis.statistics.means import Z95
from judgeharness_integrations.testing.selftest.check import (
    Check,
    Floats,
    Interval,
    IntervalCheck,
    Point,
    SizeCheck,
    each,
    grid,
)
from judgeharness_integrations.testing.selftest.proportions import equal_clusters

_COPIES = 0.5  # share of a cluster's pairs that are copies of its first


def _abilities(point: Point) -> Floats:
    """Return (judges,) equally spaced logits, the last judge `gap` above the first, their mean 0."""
    return np.linspace(-point["gap"] / 2, point["gap"] / 2, int(point["judges"]))


def _credits(values: Floats) -> Credits:
    pairs, judges = values.shape
    return Credits(judges=tuple(map(str, range(judges))), pairs=tuple(map(str, range(pairs))), values=values)


def _drawn(point: Point, generator: np.random.Generator) -> Credits:
    """Draw credits under the Rasch model; difficulties are standard normal, and some cells are missing."""
    pairs = int(point["pairs"])
    chance = special.expit(_abilities(point) - generator.standard_normal((pairs, 1)))
    values = (generator.random(chance.shape) < chance).astype(np.float64)
    if "size" in point:  # within a cluster some pairs are the first once more, so that the truth stays what it was
        first = np.arange(pairs) // int(point["size"]) * int(point["size"])
        copied = generator.random((pairs, 1)) < _COPIES
        values = np.where(copied, values[first], values)
    values[generator.random(chance.shape) < point.get("missing", 0.0)] = np.nan
    return _credits(values)


def _fit(point: Point, generator: np.random.Generator, method: Method) -> JointFit | ConditionalFit | None:
    """Return the fit of credits drawn at a point; None where not all judges could be rated."""
    matrix = _drawn(point, generator)
    size = int(point.get("size", 1))
    found = rate(matrix, methods=(method,), clusters=equal_clusters(len(matrix.pairs) // size, size))
    fit = found.joint if method == "bradley-terry" else found.conditional
    return fit if fit is not None and len(fit.judges) == int(point["judges"]) else None


def _contrast(point: Point, generator: np.random.Generator, method: Method) -> tuple[Contrast, float] | None:
    """Return the difference of the last judge and the first, and its sign."""
    fit = _fit(point, generator, method)
    if fit is None:
        return None
    ends = {"0", fit.judges[-1]}
    found = next(one for one in contrasts_of(fit.judges, fit.elo, fit.covariance) if {one.judge, one.other} == ends)
    return found, -1.0 if found.judge == "0" else 1.0


def difference_intervals(
    point: Point, replicates: int, generator: np.random.Generator, *, method: Method
) -> tuple[Floats, Floats, float]:
    """Simulate intervals of the difference between the best judge and the worst, in Elo."""

    def interval() -> Interval:
        found = _contrast(point, generator, method)
        if found is None:
            return None
        (low, high), sign = found[0].ci95, found[1]
        return (low, high) if sign > 0 else (-high, -low)

    low, high = each(interval() for _ in range(replicates))
    return low, high, ELO_POINTS * point["gap"]


def _elo(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    """The best judge's Elo, judges' mean at 1500."""

    def interval() -> Interval:
        fit = _fit(point, generator, "conditional")
        if fit is None:
            return None
        middle, half = float(fit.elo[-1]) - 1500, Z95 * float(fit.se[-1])
        return middle - half, middle + half

    low, high = each(interval() for _ in range(replicates))
    return low, high, ELO_POINTS * point["gap"] / 2


def _test(point: Point, replicates: int, generator: np.random.Generator) -> Floats:
    found = (_contrast(point, generator, "conditional") for _ in range(replicates))
    return np.array([np.nan if one is None or one[0].p is None else one[0].p for one in found])


def _order(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    def interval() -> Interval:
        logits = _abilities(point) - generator.standard_normal((int(point["pairs"]), 1))
        first, second = (
            _credits((generator.random(logits.shape) < special.expit(logits + shift)).astype(np.float64))
            for shift in (point["effect"] / 2, -point["effect"] / 2)
        )
        found = order_effect(first, second)
        return None if found is None else found.ci95

    low, high = each(interval() for _ in range(replicates))
    return low, high, ELO_POINTS * point["effect"]


_FEW = grid(judges=(3, 6, 21), gap=(1.5,), pairs=(100,))
_MANY = grid(judges=(3, 6, 21), gap=(1.5,), pairs=(400,))
RANKINGS: tuple[Check, ...] = (
    IntervalCheck(
        name="ranking: difference of two judges, conditional maximum likelihood",
        points=(*_FEW, *_MANY, *grid(judges=(3, 6, 21), gap=(1.5,), pairs=(200,), missing=(0.2,))),
        simulate=partial(difference_intervals, method="conditional"),
        fast=2,
        fast_replicates=100,
        note="joint maximum likelihood, printed beside it as published, is too narrow: see below",
    ),
    IntervalCheck(
        name="ranking: difference of two judges, joint maximum likelihood as published",
        points=_MANY,
        simulate=partial(difference_intervals, method="bradley-terry"),
        fast=1,
        fast_replicates=100,
        narrow=True,
        note="ratings are spread by about J / (J - 1); the report says so and gives conditional estimates beside them",
    ),
    IntervalCheck(
        name="ranking: difference of two judges on clustered pairs, conditional maximum likelihood",
        points=grid(judges=(3, 6, 21), gap=(1.5,), pairs=(200,), size=(4,)),
        simulate=partial(difference_intervals, method="conditional"),
        fast=1,
        fast_replicates=100,
    ),
    IntervalCheck(
        name="ranking: Elo of a judge, conditional maximum likelihood",
        points=_FEW,
        simulate=_elo,
        fast=1,
        fast_replicates=100,
    ),
    SizeCheck(
        name="ranking: test of the difference of two equal judges",
        points=grid(judges=(3, 6, 21), gap=(0.0,), pairs=(100,)),
        simulate=_test,
        fast=1,
        fast_replicates=100,
    ),
    IntervalCheck(
        name="ranking: order effect",
        points=grid(judges=(3, 6, 21), gap=(1.0,), effect=(0.5, 1.5), pairs=(100,)),
        simulate=_order,
        fast=1,
        fast_replicates=100,
    ),
)
