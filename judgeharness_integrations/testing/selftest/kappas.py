"""Intervals of chance-corrected agreement on planted tables of two raters' PASS and FAIL, and of three raters."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.agreement.kappa.bootstrap import Bootstrap
from judgeharness_integrations.agreement.kappa.coefficient import Coefficient
from judgeharness_integrations.agreement.kappa.coefficients import alpha, cohen, fleiss, gwet
from judgeharness_integrations.agreement.kappa.ratings import Ratings
from judgeharness_integrations.calibration.chanceagreement import gwet_ac1
from judgeharness_integrations.calibration.rates import cohen_kappa
from judgeharness_integrations.testing.selftest.check import (
    Check,
    Floats,
    Interval,
    IntervalCheck,
    Point,
    Simulation,
    each_distinct,
    grid,
)

__all__ = ["KAPPAS", "planted_table", "true_ac1", "true_kappa"]

_Z = 1.959963984540054  # the 97.5 % point of the normal distribution
_DRAWS = Bootstrap(replicates=1000)
_RATERS = 3
_PATTERNS = np.array(list(product((0, 1), repeat=_RATERS)))  # (8, raters) who says PASS


def planted_table(rate: float, agreement: float) -> Floats:
    """Return cell probabilities (4,) PASS/PASS, PASS/FAIL, FAIL/PASS, FAIL/FAIL of two raters with kappa `agreement`.

    Both say PASS at `rate`.
    """
    both = rate * (1 - rate) * agreement
    return np.array([rate**2 + both, rate * (1 - rate) - both, rate * (1 - rate) - both, (1 - rate) ** 2 + both])


def true_kappa(cells: Floats) -> float:
    """Return the kappa of cell probabilities (4,), from its definition."""
    table = cells.reshape(2, 2)
    expected = float(table.sum(axis=1) @ table.sum(axis=0))
    return float((np.trace(table) - expected) / (1 - expected))


def true_ac1(cells: Floats) -> float:
    """Return Gwet's AC1 of cell probabilities (4,) of two labels, from its definition."""
    table = cells.reshape(2, 2)
    share = (table.sum(axis=1)[0] + table.sum(axis=0)[0]) / 2
    expected = 2 * share * (1 - share)
    return float((np.trace(table) - expected) / (1 - expected))


def _two(interval: Callable[..., Interval], truth: Callable[[Floats], float]) -> Simulation:
    """Return the simulation of two raters; `interval` takes the counts of the four cells."""

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
        cells = planted_table(point["rate"], point["kappa"])
        drawn = generator.multinomial(int(point["n"]), cells, size=replicates)
        low, high = each_distinct(list(drawn.T), interval)
        return low, high, truth(cells)

    return simulate


def _three(coefficient: Callable[[Ratings], Coefficient]) -> Simulation:
    """Return the simulation of three raters that say PASS at a rate of the item, as often the one as the other.

    Where all of them have the same rate, Fleiss' kappa and Krippendorff's alpha are the intra-class correlation.
    """

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
        cells = _three_cells(point["rate"], point["kappa"])
        drawn = generator.multinomial(int(point["n"]), cells, size=replicates)
        low, high = each_distinct(list(drawn.T), lambda *counts: coefficient(_ratings(_PATTERNS, counts)).interval)
        return low, high, point["kappa"]

    return simulate


def _three_cells(rate: float, kappa: float) -> Floats:
    """Return (8,) chances of the patterns: with chance `kappa` all three share one answer, else each has its own."""
    passes = _PATTERNS.sum(axis=1)
    own = rate**passes * (1 - rate) ** (_RATERS - passes)
    shared = np.where(passes == _RATERS, rate, np.where(passes == 0, 1 - rate, 0.0))
    found: Floats = kappa * shared + (1 - kappa) * own
    return found


def _ratings(patterns: NDArray[np.intp], counts: tuple[int, ...]) -> Ratings:
    return Ratings.of_labels(np.repeat(patterns, counts, axis=0).T, categories=2)


def _pairs(coefficient: Callable[[Ratings], Coefficient]) -> Callable[..., Interval]:
    cells = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])
    return lambda *counts: coefficient(_ratings(cells, counts)).interval


def _standard_error(*cells: int) -> Interval:
    one, two, three, four = cells
    kappa = cohen_kappa({"PASS": {"PASS": one, "FAIL": two}, "FAIL": {"PASS": three, "FAIL": four}})
    if kappa is None or kappa.se is None:
        return None
    return kappa.value - _Z * kappa.se, kappa.value + _Z * kappa.se


def _calibration_ac1(*cells: int) -> Interval:
    labels = [("P", "P"), ("P", "F"), ("F", "P"), ("F", "F")]
    pairs = [pair for pair, count in zip(labels, cells, strict=True) for _ in range(count)]
    found = gwet_ac1(pairs, range(len(pairs)), labels=2)
    return None if found is None or found.low is None or found.high is None else (found.low, found.high)


_RARE = "with a class of one in ten it covers less: 0.73 to 0.88 at n=50"
_TABLES = grid(n=(100, 200, 500), rate=(0.5, 0.7), kappa=(0.2, 0.5, 0.8))
_SMALL = grid(n=(50, 200), rate=(0.5, 0.7), kappa=(0.2, 0.5, 0.8))
_GROUPS = grid(n=(50, 200), rate=(0.5, 0.7), kappa=(0.3, 0.6))
KAPPAS: tuple[Check, ...] = (
    IntervalCheck(
        name="calibration: Cohen's kappa -+ 1.96 standard errors",
        points=_TABLES,
        simulate=_two(_standard_error, true_kappa),
        fast=6,
        note=_RARE,
    ),
    IntervalCheck(name="calibration: Gwet's AC1", points=_SMALL, simulate=_two(_calibration_ac1, true_ac1), fast=3),
    IntervalCheck(
        name="agreement: Cohen's kappa, bootstrap",
        points=_SMALL,
        simulate=_two(_pairs(lambda ratings: cohen(ratings, bootstrap=_DRAWS)), true_kappa),
        fast=2,
    ),
    IntervalCheck(
        name="agreement: Gwet's AC1, bootstrap",
        points=_SMALL,
        simulate=_two(_pairs(lambda ratings: gwet(ratings, bootstrap=_DRAWS)), true_ac1),
        fast=1,
    ),
    IntervalCheck(
        name="agreement: Fleiss' kappa, bootstrap",
        points=_GROUPS,
        simulate=_three(lambda ratings: fleiss(ratings, bootstrap=_DRAWS)),
        fast=1,
        fast_replicates=200,
    ),
    IntervalCheck(
        name="agreement: Krippendorff's alpha, bootstrap",
        points=_GROUPS,
        simulate=_three(lambda ratings: alpha(ratings, bootstrap=_DRAWS)),
        fast=1,
        fast_replicates=200,
    ),
)
