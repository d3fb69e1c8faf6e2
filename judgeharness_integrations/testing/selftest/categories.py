"""Intervals of agreement on scales of several categories, and where items belong together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.agreement.kappa.bootstrap import Bootstrap
from judgeharness_integrations.agreement.kappa.coefficient import Coefficient
from judgeharness_integrations.agreement.kappa.coefficients import alpha, cohen
from judgeharness_integrations.agreement.kappa.ratings import Ratings
from judgeharness_integrations.calibration.chanceagreement import clustered_kappa, gwet_ac1
from judgeharness_integrations.calibration.classes import macro_f1
from judgeharness_integrations.calibration.estimate import t_quantile
from judgeharness_integrations.calibration.judged import Judged
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
from judgeharness_integrations.testing.selftest.clusters import equal_clusters
from judgeharness_integrations.testing.selftest.kappas import planted_table, true_ac1, true_kappa

__all__ = ["CATEGORIES", "drawn_answers", "true_macro_f1"]

_DRAWS = Bootstrap(replicates=1000)
_COPIES = 0.5  # share of a cluster's items that are copies of its first
_CELLS = (("PASS", "PASS"), ("PASS", "FAIL"), ("FAIL", "PASS"), ("FAIL", "FAIL"))

Pair = tuple[str, str]


def drawn_answers(
    generator: np.random.Generator, *, kappa: float, categories: int, items: int, replicates: int
) -> NDArray[np.intp]:
    """Return (replicates, 2 raters, items) of uniform categories: the same with chance `kappa`, else independent.

    Disagreement is then 1 - kappa of what chance gives, under any weights: every weighted kappa, and alpha under any
    metric, is `kappa`.
    """
    answers = generator.integers(0, categories, (replicates, 2, items))
    same = generator.random((replicates, items)) < kappa
    answers[:, 1] = np.where(same, answers[:, 0], answers[:, 1])
    return answers


def _scale(coefficient: Callable[[Ratings], Coefficient]) -> Simulation:
    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
        categories = int(point["categories"])
        answers = drawn_answers(
            generator, kappa=point["kappa"], categories=categories, items=int(point["n"]), replicates=replicates
        )
        scale = range(categories)
        low, high = each(coefficient(Ratings.of_numbers(grid_, scale=scale)).interval for grid_ in answers)
        return low, high, point["kappa"]

    return simulate


def _of_clusters(cells: Floats, point: Point, replicates: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Return (replicates, items) of cells of the table, of which some are copied within their cluster."""
    shape = (replicates, int(point["clusters"]), int(point["size"]))
    drawn = generator.choice(len(cells), p=cells, size=shape)
    copied = generator.random(shape) < _COPIES
    return np.where(copied, drawn[..., :1], drawn).reshape(replicates, -1)


def _clustered(
    interval: Callable[[Sequence[Pair], list[int]], Interval], truth: Callable[[Floats], float]
) -> Simulation:
    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
        cells = planted_table(point["rate"], point["kappa"])
        drawn = _of_clusters(cells, point, replicates, generator)
        keys = equal_clusters(int(point["clusters"]), int(point["size"])).tolist()
        low, high = each(interval([_CELLS[cell] for cell in row], keys) for row in drawn.tolist())
        return low, high, truth(cells)

    return simulate


def _kappa(pairs: Sequence[Pair], keys: list[int]) -> Interval:
    found = clustered_kappa(pairs, keys)
    if found is None or found.se is None:
        return None
    half = t_quantile(len(set(keys)) - 1) * found.se
    return found.value - half, found.value + half


def _ac1(pairs: Sequence[Pair], keys: list[int]) -> Interval:
    found = gwet_ac1(pairs, keys, labels=2)
    return None if found is None or found.low is None or found.high is None else (found.low, found.high)


def _bootstrap(pairs: Sequence[Pair], keys: list[int]) -> Interval:
    codes = np.array([[said == "PASS" for said in pair] for pair in pairs], dtype=np.intp).T
    return cohen(Ratings.of_labels(codes, categories=2, clusters=keys), bootstrap=_DRAWS).interval


def _macro_f1(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    cells = _errors_table(point) if "sensitivity" in point else planted_table(point["rate"], point["kappa"])

    def interval(*counts: int) -> Interval:
        items = [
            Judged(gold=gold, verdict=verdict, status="decided")
            for (gold, verdict), count in zip(_CELLS, counts, strict=True)
            for _ in range(count)
        ]
        found = macro_f1(items, range(len(items)))
        return None if found is None or found.low is None or found.high is None else (found.low, found.high)

    drawn = generator.multinomial(int(point["n"]), cells, size=replicates)
    low, high = each_distinct(list(drawn.T), interval)
    return low, high, true_macro_f1(cells)


def _errors_table(point: Point) -> Floats:
    """Return the cells of a judge with this sensitivity and specificity."""
    rate, yes, no = point["rate"], point["sensitivity"], point["specificity"]
    return np.array([rate * yes, rate * (1 - yes), (1 - rate) * (1 - no), (1 - rate) * no])


def true_macro_f1(cells: Floats) -> float:
    """Return the macro F1 of cell probabilities (4,), from its definition."""
    both_pass, one, other, both_fail = cells.tolist()
    scores = [2 * both / (2 * both + one + other) for both in (both_pass, both_fail)]
    return float(sum(scores) / len(scores))


_SCALES = grid(categories=(4,), n=(50, 200), kappa=(0.3, 0.7))
_CLUSTERS = grid(clusters=(30, 60), size=(4,), rate=(0.5, 0.7), kappa=(0.3, 0.6))
CATEGORIES: tuple[Check, ...] = (
    IntervalCheck(
        name="agreement: Cohen's kappa, quadratic weights, bootstrap",
        points=_SCALES,
        simulate=_scale(lambda ratings: cohen(ratings, weights="quadratic", bootstrap=_DRAWS)),
        fast=1,
        fast_replicates=100,
    ),
    IntervalCheck(
        name="agreement: Krippendorff's alpha, interval metric, bootstrap",
        points=_SCALES,
        simulate=_scale(lambda ratings: alpha(ratings, metric="interval", bootstrap=_DRAWS)),
        fast=1,
        fast_replicates=100,
    ),
    IntervalCheck(
        name="agreement: Cohen's kappa of clustered items, bootstrap",
        points=_CLUSTERS,
        simulate=_clustered(_bootstrap, true_kappa),
        fast=1,
        fast_replicates=100,
    ),
    IntervalCheck(
        name="calibration: Cohen's kappa of clustered items -+ t standard errors",
        points=_CLUSTERS,
        simulate=_clustered(_kappa, true_kappa),
        fast=1,
        fast_replicates=200,
    ),
    IntervalCheck(
        name="calibration: Gwet's AC1 of clustered items",
        points=_CLUSTERS,
        simulate=_clustered(_ac1, true_ac1),
        fast=1,
        fast_replicates=200,
    ),
    IntervalCheck(
        name="calibration: macro F1",
        points=grid(n=(50, 200), rate=(0.5, 0.7), kappa=(0.2, 0.5, 0.8)),
        simulate=_macro_f1,
        fast=2,
        fast_replicates=200,
    ),
    IntervalCheck(
        name="calibration: macro F1 where one label is rare",
        points=(
            *grid(rate=(0.9,), sensitivity=(0.95,), specificity=(0.7,), n=(50,)),
            *grid(rate=(0.8, 0.95), sensitivity=(0.99,), specificity=(0.95,), n=(150,)),
            *grid(rate=(0.9, 0.95), sensitivity=(0.98,), specificity=(0.5,), n=(50,)),
        ),
        simulate=_macro_f1,
        fast=1,
        fast_replicates=200,
        note="given where five labelled items or more have each label: at n=20 and rate=0.9 in 5 % of samples",
    ),
)
