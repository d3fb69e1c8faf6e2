"""Intervals of chance-corrected agreement on planted tables, and the alternative annotator test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.analysis.agreement.closeness import Ballots, Replies, closeness
from judgeharness_integrations.analysis.agreement.hypothesis import (
    Advantage,
    Tally,
    advantage,
    clustered_test,
    rho_difference,
    t_test,
    tango_test,
    winning_rate,
)
from judgeharness_integrations.analysis.agreement.kappa import Bootstrap, Coefficient, alpha, cohen, fleiss, gwet
from judgeharness_integrations.analysis.agreement.panel import Panel
from judgeharness_integrations.analysis.agreement.ratings import Ratings
from judgeharness_integrations.analysis.calibration.items import Judged
from judgeharness_integrations.analysis.calibration.rates import macro_f1
from judgeharness_integrations.analysis.statistics.agreement import clustered_kappa, cohen_kappa, gwet_ac1
from judgeharness_integrations.analysis.statistics.means import normal_interval, t_quantile

from .check import (
    Check,
    Floats,
    Interval,
    IntervalCheck,
    Point,
    Simulated,
    Simulation,
    SizeCheck,
    each,
    each_distinct,
    grid,
    interval_of,
)
from .proportions import equal_clusters, errors_table

_DRAWS = Bootstrap(replicates=1000)
Pair = tuple[str, str]
_CELLS: tuple[Pair, ...] = (("PASS", "PASS"), ("PASS", "FAIL"), ("FAIL", "PASS"), ("FAIL", "FAIL"))
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

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
        cells = errors_table(point) if "sensitivity" in point else planted_table(point["rate"], point["kappa"])
        drawn = generator.multinomial(int(point["n"]), cells, size=replicates)
        return *each_distinct(list(drawn.T), interval), truth(cells)

    return simulate


def _three(coefficient: Callable[[Ratings], Coefficient]) -> Simulation:
    """Return the simulation of three raters that say PASS at a rate of the item, as often the one as the other.

    Where all of them have the same rate, Fleiss' kappa and Krippendorff's alpha are the intra-class correlation.
    """

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
        cells = _three_cells(point["rate"], point["kappa"])
        drawn = generator.multinomial(int(point["n"]), cells, size=replicates)
        limits = each_distinct(list(drawn.T), lambda *counts: coefficient(_ratings(_PATTERNS, counts)).interval)
        return *limits, point["kappa"]

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


def _counted_pairs(counts: Sequence[int]) -> list[Pair]:
    return [pair for pair, count in zip(_CELLS, counts, strict=True) for _ in range(count)]


def _posterior(*cells: int) -> Interval:
    return interval_of(clustered_kappa(_counted_pairs(cells), range(sum(cells))))


def _standard_error(*cells: int) -> Interval:
    one, two, three, four = cells
    kappa = cohen_kappa({"PASS": {"PASS": one, "FAIL": two}, "FAIL": {"PASS": three, "FAIL": four}})
    if kappa is None or kappa.se is None:
        return None
    return normal_interval(kappa.value, kappa.se)


def _calibration_ac1(*cells: int) -> Interval:
    return interval_of(gwet_ac1(_counted_pairs(cells), range(sum(cells)), labels=2))


_RARE = "with a class of one in ten it covers less: 0.73 to 0.88 at n=50"
_TABLES = grid(n=(100, 200, 500), rate=(0.5, 0.7), kappa=(0.2, 0.5, 0.8))
_SMALL = grid(n=(50, 200), rate=(0.5, 0.7), kappa=(0.2, 0.5, 0.8))
_GROUPS = grid(n=(50, 200), rate=(0.5, 0.7), kappa=(0.3, 0.6))
_RATERS_RARE = grid(n=(100, 200), rate=(0.02, 0.1), kappa=(0.2, 0.8))
_ERRORS = grid(n=(100, 300), rate=(0.02, 0.1, 0.5, 0.98), sensitivity=(0.6, 0.98), specificity=(0.8, 0.98))
KAPPAS: tuple[Check, ...] = (
    IntervalCheck(
        name="calibration: Cohen's kappa",
        points=_ERRORS,
        simulate=_two(_posterior, true_kappa),
        fast=2,
        fast_replicates=200,
        note="given however rare a label is; undefined where labels or decisions are all the same",
    ),
    IntervalCheck(
        name="calibration: Cohen's kappa -+ 1.96 standard errors",
        points=_TABLES,
        simulate=_two(_standard_error, true_kappa),
        fast=6,
        note=_RARE,
    ),
    IntervalCheck(name="calibration: Gwet's AC1", points=_SMALL, simulate=_two(_calibration_ac1, true_ac1), fast=3),
    IntervalCheck(
        name="agreement: Cohen's kappa, resampled",
        points=_SMALL,
        simulate=_two(_pairs(lambda ratings: cohen(ratings, bootstrap=_DRAWS)), true_kappa),
        fast=2,
    ),
    IntervalCheck(
        name="agreement: Gwet's AC1, resampled",
        points=_SMALL,
        simulate=_two(_pairs(lambda ratings: gwet(ratings, bootstrap=_DRAWS)), true_ac1),
        fast=1,
    ),
    IntervalCheck(
        name="agreement: Fleiss' kappa, resampled",
        points=_GROUPS,
        simulate=_three(lambda ratings: fleiss(ratings, bootstrap=_DRAWS)),
        fast=1,
        fast_replicates=200,
    ),
    IntervalCheck(
        name="agreement: Krippendorff's alpha, resampled",
        points=_GROUPS,
        simulate=_three(lambda ratings: alpha(ratings, bootstrap=_DRAWS)),
        fast=1,
        fast_replicates=200,
    ),
    IntervalCheck(
        name="agreement: Fleiss' kappa where one label is rare",
        points=_RATERS_RARE,
        simulate=_three(lambda ratings: fleiss(ratings, bootstrap=_DRAWS)),
        fast=1,
        fast_replicates=200,
        note="the bias-corrected bootstrap covered 0.45 at n=100, rate=0.02, kappa=0.2",
    ),
    IntervalCheck(
        name="agreement: Krippendorff's alpha where one label is rare",
        points=_RATERS_RARE,
        simulate=_three(lambda ratings: alpha(ratings, bootstrap=_DRAWS)),
        fast=1,
        fast_replicates=100,
    ),
)
_COPIES = 0.5  # share of a cluster's items that are copies of its first


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
    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
        categories = int(point["categories"])
        answers = drawn_answers(
            generator, kappa=point["kappa"], categories=categories, items=int(point["n"]), replicates=replicates
        )
        scale = range(categories)
        return *each(coefficient(Ratings.of_numbers(grid_, scale=scale)).interval for grid_ in answers), point["kappa"]

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
    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
        cells = planted_table(point["rate"], point["kappa"])
        drawn = _of_clusters(cells, point, replicates, generator)
        keys = equal_clusters(int(point["clusters"]), int(point["size"])).tolist()
        return *each(interval([_CELLS[cell] for cell in row], keys) for row in drawn.tolist()), truth(cells)

    return simulate


def _kappa(pairs: Sequence[Pair], keys: list[int]) -> Interval:
    found = clustered_kappa(pairs, keys)
    if found is None or found.se is None:
        return None
    half = t_quantile(len(set(keys)) - 1) * found.se
    return found.value - half, found.value + half


def _ac1(pairs: Sequence[Pair], keys: list[int]) -> Interval:
    return interval_of(gwet_ac1(pairs, keys, labels=2))


def _bootstrap(pairs: Sequence[Pair], keys: list[int]) -> Interval:
    codes = np.array([[said == "PASS" for said in pair] for pair in pairs], dtype=np.intp).T
    return cohen(Ratings.of_labels(codes, categories=2, clusters=keys), bootstrap=_DRAWS).interval


def _macro_f1(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
    cells = errors_table(point) if "sensitivity" in point else planted_table(point["rate"], point["kappa"])

    def interval(*counts: int) -> Interval:
        items = [Judged(gold=gold, verdict=verdict, status="decided") for gold, verdict in _counted_pairs(counts)]
        return interval_of(macro_f1(items, range(len(items))))

    drawn = generator.multinomial(int(point["n"]), cells, size=replicates)
    return *each_distinct(list(drawn.T), interval), true_macro_f1(cells)


def true_macro_f1(cells: Floats) -> float:
    """Return the macro F1 of cell probabilities (4,), from its definition."""
    both_pass, one, other, both_fail = cells.tolist()
    scores = [2 * both / (2 * both + one + other) for both in (both_pass, both_fail)]
    return float(sum(scores) / len(scores))


_SCALES = grid(categories=(4,), n=(50, 200), kappa=(0.3, 0.7))
_CLUSTERS = grid(clusters=(30, 60), size=(4,), rate=(0.5, 0.7), kappa=(0.3, 0.6))
CATEGORIES: tuple[Check, ...] = (
    IntervalCheck(
        name="agreement: Cohen's kappa, quadratic weights, resampled",
        points=_SCALES,
        simulate=_scale(lambda ratings: cohen(ratings, weights="quadratic", bootstrap=_DRAWS)),
        fast=1,
        fast_replicates=100,
    ),
    IntervalCheck(
        name="agreement: Krippendorff's alpha, interval metric, resampled",
        points=_SCALES,
        simulate=_scale(lambda ratings: alpha(ratings, metric="interval", bootstrap=_DRAWS)),
        fast=1,
        fast_replicates=100,
    ),
    IntervalCheck(
        name="agreement: Cohen's kappa of clustered items, resampled",
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
_HUMANS = ("one", "two", "three")
_CANDIDATES = ("first", "second")
_LEAST = 30


def _wins(point: Point) -> list[float]:
    """Return the chances that the human alone, both, and the candidate alone wins; the first is ahead by epsilon."""
    human = point["candidate"] + point["epsilon"]
    return [human, 1 - human - point["candidate"], point["candidate"]]


def _tally(point: Point, replicates: int, generator: np.random.Generator) -> Tally:
    human, tie, candidate = generator.multinomial(int(point["n"]), _wins(point), size=replicates).T
    return Tally(human=human, tie=tie, candidate=candidate)


def _t_test(point: Point, replicates: int, generator: np.random.Generator) -> Floats:
    return t_test(_tally(point, replicates, generator), point["epsilon"], multiplicative=False).p


def _tango_test(point: Point, replicates: int, generator: np.random.Generator) -> Floats:
    return tango_test(_tally(point, replicates, generator), point["epsilon"]).p


def _clustered_test(point: Point, replicates: int, generator: np.random.Generator) -> Floats:
    """One annotator a replicate; within a cluster half of the comparisons come out as its first."""
    clusters, size = int(point["clusters"]), int(point["size"])
    outcomes = [-1, 0, 1]
    own = generator.choice(outcomes, p=_wins(point), size=(replicates, clusters, size))
    shared = generator.choice(outcomes, p=_wins(point), size=(replicates, clusters, 1))
    signs = np.where(generator.random(own.shape) < point["shared"], shared, own).astype(np.int8).reshape(-1)
    n = clusters * size
    annotator = np.repeat(np.arange(replicates), n)
    found = Advantage(
        candidate="",
        score="accuracy",
        annotator=annotator,
        item=np.tile(np.arange(n), replicates),
        sign=signs,
        tally=Tally.of(signs, annotator, replicates),
        tested=np.arange(replicates),
        kept=n,
    )
    return clustered_test(found, equal_clusters(clusters, size), point["epsilon"], multiplicative=False).p


def _panel(point: Point, generator: np.random.Generator) -> Panel:
    """Return labels of three humans and two candidates, each right at a rate of its own, about items of two classes."""
    n, names = int(point["n"]), (*_HUMANS, *_CANDIDATES)
    truth = generator.integers(0, 2, n)
    rates = np.array([point["human"]] * len(_HUMANS) + [point["first"], point["second"]])
    right = generator.random((len(names), n)) < rates[:, None]
    return Panel(
        raters=names,
        items=tuple(map(str, range(n))),
        kind="labels",
        labels=("FAIL", "PASS"),
        rater=np.repeat(np.arange(len(names)), n),
        item=np.tile(np.arange(n), len(names)),
        values=np.where(right, truth, 1 - truth).reshape(-1),
        failed={},
        folded={},
        undecided={},
    )


def _advantages(point: Point, generator: np.random.Generator) -> list[Advantage]:
    panel = _panel(point, generator)
    ballots = Ballots.of(panel, _HUMANS)
    score = closeness("accuracy", ballots)
    return [
        advantage(ballots, score, Replies.of(panel, name), candidate=name, score="accuracy", min_instances=_LEAST)
        for name in _CANDIDATES
    ]


def true_rho(human: float, candidate: float) -> float:
    """Return P(W_f = 1): among three humans right at `human`, by enumeration of who is right."""
    total = 0.0
    for left_out, judge, *others in product((0, 1), repeat=2 + 2):
        said = [left_out, *others]
        chance = float(np.prod([human if right else 1 - human for right in said]))
        chance *= candidate if judge else 1 - candidate
        total += chance * (others.count(judge) >= others.count(left_out))
    return total


def _rho(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
    found = (winning_rate(_advantages(point, generator)[0]) for _ in range(replicates))
    return *each(None if rate is None else rate.interval for rate in found), true_rho(point["human"], point["first"])


def _difference(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
    pairs = (_advantages(point, generator) for _ in range(replicates))
    truth = true_rho(point["human"], point["first"]) - true_rho(point["human"], point["second"])
    return *each(rho_difference(*pair, min_instances=_LEAST).interval for pair in pairs), truth


_EDGE = grid(n=(50, 100, 300), epsilon=(0.1, 0.2), candidate=(0.05, 0.2))
_PANELS = grid(n=(50, 200), human=(0.8, 0.95), first=(0.6, 0.8), second=(0.7,))
ALT_TESTS: tuple[Check, ...] = (
    SizeCheck(
        name="alt-test: t-test of the paper",
        points=_EDGE,
        simulate=_t_test,
        fast=4,
        note="where the candidate alone hardly ever wins it rejects too often, 0.19 at n=29",
    ),
    SizeCheck(name="alt-test: Tango's score test", points=_EDGE, simulate=_tango_test, fast=4),
    SizeCheck(
        name="alt-test: cluster-robust t-test",
        points=grid(clusters=(30, 100), size=(4,), shared=(0.5,), epsilon=(0.1, 0.2), candidate=(0.1, 0.2)),
        simulate=_clustered_test,
        fast=2,
    ),
    IntervalCheck(name="alt-test: rho", points=_PANELS, simulate=_rho, fast=2, fast_replicates=200),
    IntervalCheck(
        name="alt-test: paired difference of rho", points=_PANELS, simulate=_difference, fast=2, fast_replicates=200
    ),
)
