"""Intervals of what a calibration says of scores, on normal scores with planted errors and correlations."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from judgeharness_integrations.calibration.quadratickappa import quadratic_kappa
from judgeharness_integrations.calibration.rankcorrelation import kendall_tau_b, spearman
from judgeharness_integrations.calibration.rates import ScoreErrors, score_errors
from judgeharness_integrations.statistics.means import Estimate, mean_interval
from judgeharness_integrations.testing.selftest.check import (
    Check,
    Floats,
    Interval,
    IntervalCheck,
    Point,
    Simulation,
    each,
    grid,
)
from judgeharness_integrations.testing.selftest.proportions import cluster_effects, equal_clusters

__all__ = ["SCORES"]

_Correlation = Callable[[Floats, Floats, Sequence[Hashable]], Estimate | None]


def _errors(interval: Callable[[ScoreErrors], Interval], truth: Callable[[float], float]) -> Simulation:
    """Return the simulation of normal errors around `bias`, in units of their standard deviation."""

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
        clusters, size = int(point["clusters"]), int(point["size"])
        correlation = point.get("correlation", 0.0)
        noise = cluster_effects(generator, correlation=correlation, clusters=clusters, size=size, replicates=replicates)
        keys = equal_clusters(clusters, size).tolist()
        found = (score_errors([(0.0, error) for error in row], keys) for row in (noise + point["bias"]).tolist())
        low, high = each(None if errors is None else interval(errors) for errors in found)
        return low, high, truth(point["bias"])

    return simulate


_STEPS = (0.8, 0.15, 0.05)  # shares of the errors that are of one, two and three steps


def _steps(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    """Scores of which most agree exactly with gold."""
    shares = [point["exact"], *((1 - point["exact"]) * share for share in _STEPS)]
    errors = generator.choice(len(shares), p=shares, size=(replicates, int(point["n"])))
    found = (score_errors([(0.0, error) for error in row]) for row in errors.tolist())
    low, high = each(None if one is None else one.mean_absolute_error_interval for one in found)
    return low, high, sum(size * share for size, share in enumerate(shares))


def _folded_mean(bias: float) -> float:
    """Return E|N(bias, 1)|."""
    return math.sqrt(2 / math.pi) * math.exp(-(bias**2) / 2) + bias * math.erf(bias / math.sqrt(2))


def _correlated(correlation: _Correlation, truth: Callable[[float, float], float]) -> Simulation:
    """Return the simulation of two normal columns with correlation `r`, the second shifted by `shift`."""

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
        n, r, shift = int(point["n"]), point["r"], point.get("shift", 0.0)
        first, other = generator.standard_normal((2, replicates, n))
        second = r * first + math.sqrt(1 - r * r) * other + shift
        found = (correlation(x, y, range(n)) for x, y in zip(first, second, strict=True))
        low, high = each(None if one is None else _limits(one) for one in found)
        return low, high, truth(r, shift)

    return simulate


def _limits(found: Estimate) -> Interval:
    return None if found.low is None or found.high is None else (found.low, found.high)


def _mean(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    """Changes of a distance: mostly none, some by a step either way."""
    shares = [point["worse"], point["better"], 1 - point["worse"] - point["better"]]
    changes = generator.choice([1.0, -1.0, 0.0], p=shares, size=(replicates, int(point["n"])))
    low, high = each(mean_interval(row) for row in changes)
    return low, high, point["worse"] - point["better"]


_ERRORS = (
    *grid(clusters=(30, 100), size=(1,), bias=(0.0, 0.5)),
    *grid(clusters=(30,), size=(4,), correlation=(0.3,), bias=(0.0, 0.5)),
)
_NORMAL = grid(n=(30, 100), r=(0.0, 0.5, 0.8))
SCORES: tuple[Check, ...] = (
    IntervalCheck(
        name="calibration: mean absolute error",
        points=_ERRORS,
        simulate=_errors(lambda errors: errors.mean_absolute_error_interval, _folded_mean),
        fast=1,
    ),
    IntervalCheck(
        name="calibration: mean absolute error on a scale, most scores exact",
        points=grid(exact=(0.8, 0.95), n=(20, 50, 150)),
        simulate=_steps,
        fast=2,
    ),
    IntervalCheck(
        name="calibration: bias of scores",
        points=_ERRORS,
        simulate=_errors(lambda errors: errors.bias_interval, lambda bias: bias),
        fast=1,
    ),
    IntervalCheck(
        name="calibration: Spearman's correlation",
        points=_NORMAL,
        simulate=_correlated(spearman, lambda r, _: 6 / math.pi * math.asin(r / 2)),
        fast=2,
        fast_replicates=200,
    ),
    IntervalCheck(
        name="calibration: Kendall's tau-b",
        points=_NORMAL,
        simulate=_correlated(kendall_tau_b, lambda r, _: 2 / math.pi * math.asin(r)),
        fast=2,
        fast_replicates=200,
    ),
    IntervalCheck(
        name="calibration: quadratic kappa",
        points=grid(n=(30, 100), r=(0.3, 0.8), shift=(0.0, 0.5)),
        simulate=_correlated(quadratic_kappa, lambda r, shift: 2 * r / (2 + shift**2)),
        fast=2,
        fast_replicates=200,
    ),
    IntervalCheck(
        name="drift: mean change of scores",
        points=grid(n=(50, 200), worse=(0.1, 0.3), better=(0.1, 0.3)),
        simulate=_mean,
        fast=2,
    ),
)
