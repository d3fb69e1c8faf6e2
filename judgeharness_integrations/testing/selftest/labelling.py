"""Label -> calibrate -> gate: whether printed intervals hold the truth, and what a worthless judge passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from operator import itemgetter
from typing import Final

import numpy as np

from judgeharness_integrations.analysis.calibration.corrected import corrected_rate
from judgeharness_integrations.analysis.calibration.items import Judged
from judgeharness_integrations.analysis.calibration.measure import CriterionCalibration, measure_calibration
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.gates.checking import judged
from judgeharness_integrations.analysis.gates.gate import parse_expression
from judgeharness_integrations.analysis.gates.metrics import measured_rate
from judgeharness_integrations.analysis.gates.sequential import ALPHA
from judgeharness_integrations.testing.selftest.check import (
    Check,
    Floats,
    Interval,
    Point,
    PromiseCheck,
    Studies,
    each_distinct,
    grid,
    interval_of,
)
from judgeharness_integrations.testing.selftest.proportions import clustered_hits, equal_clusters

_ITEMS: Final = 8  # items of a suite for each of its labels
_SIZE: Final = 4
_ENOUGH: Final = 100


def _coverage(point: Point) -> float:
    """Return what a nominal 95 % interval of counts is held to: counts are discrete, and few of them more so."""
    return 0.93 if point["labels"] >= _ENOUGH else 0.91


def _covers(low: Floats, high: Floats, truth: float) -> Floats:
    return np.where(np.isnan(low), np.nan, (low <= truth) & (truth <= high))


def _cells(point: Point) -> list[float]:
    """Return the chances that people and the judge say PASS, PASS FAIL, FAIL PASS and both FAIL."""
    rate, yes, no = point["rate"], point["sensitivity"], point["specificity"]
    return [rate * yes, rate * (1 - yes), (1 - rate) * (1 - no), (1 - rate) * no]


@cache
def recommended_rate(passed: int, others: int, *labelled: int) -> Interval:
    """Return the interval that is recommended of a rate whose labels are a random sample.

    Args:
        passed: items without a label that the judge passed.
        others: the other items without one.
        labelled: labelled items by what people and the judge say: both PASS, PASS FAIL, FAIL PASS, both FAIL.

    """
    golds = np.repeat([True, True, False, False], labelled).tolist()
    said = np.repeat([True, False, True, False], labelled).tolist()
    found = corrected_rate(
        judged=[*said, *[True] * passed, *[False] * others],
        labels=[*golds, *[None] * (passed + others)],
        labels_are="random",
    )
    return None if found.best is None else found.best.interval


def _random_labels(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    labels, cells = int(point["labels"]), _cells(point)
    known = generator.multinomial(labels, cells, size=studies)
    passed = generator.binomial(_ITEMS * labels, cells[0] + cells[2], size=studies)
    counts = [passed, _ITEMS * labels - passed, *known.T]
    return _covers(*each_distinct(counts, recommended_rate), point["rate"])


@cache
def measured_labels(*counts: int) -> CriterionCalibration:
    """Return the calibration on so many items that people and the judge call PASS, PASS FAIL, FAIL PASS and FAIL."""
    said = ("PASS", "FAIL")
    pairs = [(gold, verdict) for gold in said for verdict in said]
    return measure_calibration(
        [
            Judged(gold=gold, verdict=verdict, status="decided")
            for (gold, verdict), count in zip(pairs, counts, strict=True)
            for _ in range(count)
        ]
    )


def _calibrated(measure: str, truth: Callable[[Point], float]) -> Studies:
    def simulate(point: Point, studies: int, generator: np.random.Generator) -> Floats:
        def interval(*counts: int) -> Interval:
            return interval_of(getattr(measured_labels(*counts), measure))

        drawn = generator.multinomial(int(point["labels"]), _cells(point), size=studies)
        return _covers(*each_distinct(list(drawn.T), interval), truth(point))

    return simulate


def _precision(point: Point) -> float:
    both, _, wrong, _ = _cells(point)
    return both / (both + wrong)


def _clustered_precision(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    """A judge that passes everything: its precision is the rate of labels, which resemble each other in a document."""
    clusters, rate = int(point["labels"]) // _SIZE, point["rate"]
    facts = {"rate": rate, "correlation": point["correlation"], "clusters": clusters, "size": _SIZE}
    drawn = clustered_hits(generator, replicates=studies, **facts)  # type: ignore[arg-type]
    keys = equal_clusters(clusters, _SIZE).tolist()

    def intervals() -> Iterator[Rate | None]:
        for row in drawn.tolist():
            items = [
                Judged(gold="PASS" if hit else "FAIL", verdict="PASS", status="decided", cluster=str(key))
                for hit, key in zip(row, keys, strict=True)
            ]
            yield measure_calibration(items).precision

    return np.array([np.nan if one is None else one.low <= rate <= one.high for one in intervals()], dtype=np.float64)


def _worthless(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    """A judge that passes this share of cases whatever they are: does `--require-calibration` let it pass?"""
    passes, rate = point["passes"], point["rate"]
    cells = [rate * passes, rate * (1 - passes), (1 - rate) * passes, (1 - rate) * (1 - passes)]
    drawn = generator.multinomial(int(point["labels"]), cells, size=studies)
    return np.array([not measured_labels(*counts).untold for counts in drawn.tolist()], dtype=np.float64)


@cache
def passes_bar(hits: int, cases: int, gate: str) -> bool:
    """Whether a gate on a rate of so many hits passes."""
    measured = measured_rate(Rate.of(hits, cases))
    return judged(parse_expression(gate), measured, judge="judge", criterion="verdict").status == "passed"


def _at_the_bar(operator: str) -> Studies:
    def simulate(point: Point, studies: int, generator: np.random.Generator) -> Floats:
        cases, bar = int(point["cases"]), point["bar"]
        hits = generator.binomial(cases, bar, size=studies).tolist()
        return np.array([passes_bar(one, cases, f"pass_rate{operator}{bar:g}") for one in hits], dtype=np.float64)

    return simulate


_JUDGE: Final = {"sensitivity": (0.93,), "specificity": (0.71,)}
_COVERS: Final = (
    "the interval holds the truth, nominally in 95 % (counts are discrete: 93 % from 100 labels on, else 91 %)"
)
_EXACT: Final = "by the exact interval, so that it is less where no count lies right at the bar"
_LABELS: Final = grid(rate=(0.02, 0.07, 0.31, 0.9, 0.98), labels=(10, 40, 100, 230), **_JUDGE)
_FEW: Final = grid(rate=(0.55, 0.31), labels=(130,), **_JUDGE)
_TRUTHS: Final[dict[str, Callable[[Point], float]]] = {
    "precision": _precision,
    "recall": itemgetter("sensitivity"),
    "specificity": itemgetter("specificity"),
}
LABELLING: tuple[Check, ...] = (
    PromiseCheck(
        name="label -> corrected-rate: recommended interval, random labels",
        promise=_COVERS,
        share=_coverage,
        at_least=True,
        points=(*_FEW, *_LABELS),
        simulate=_random_labels,
        fast=2,
        fast_replicates=1_000,
    ),
    *(
        PromiseCheck(
            name=f"label -> calibrate: {measure}",
            promise=_COVERS,
            share=_coverage,
            at_least=True,
            points=(*_FEW, *_LABELS),
            fast_replicates=200,
            simulate=_calibrated(measure, truth),
            fast=1,
        )
        for measure, truth in _TRUTHS.items()
    ),
    PromiseCheck(
        name="label -> calibrate: precision, clusters of four labels",
        promise=_COVERS,
        share=_coverage,
        at_least=True,
        points=(
            *grid(rate=(0.55,), labels=(120,), correlation=(0.2,)),
            *grid(rate=(0.02, 0.31, 0.93, 0.98), labels=(12, 40, 200), correlation=(0.05, 0.4)),
        ),
        simulate=_clustered_precision,
        fast=1,
        fast_replicates=200,
    ),
    PromiseCheck(
        name="label -> calibrate -> gate: a judge that reads nothing",
        promise="it passes --require-calibration",
        share=ALPHA / 2,
        at_least=False,
        points=(
            {"rate": 0.98, "passes": 1.0, "labels": 300},
            {"rate": 0.71, "passes": 0.93, "labels": 83},
            *grid(rate=(0.02, 0.31, 0.93, 0.98), passes=(1.0, 0.97, 0.5), labels=(10, 60, 300)),
        ),
        simulate=_worthless,
        fast=2,
        fast_replicates=300,
    ),
    PromiseCheck(
        name="run -> gate >=: a judge at the bar, one look",
        promise="a judge exactly at the bar passes",
        share=ALPHA / 2,
        at_least=False,
        points=(
            {"bar": 0.83, "cases": 160},
            {"bar": 0.93, "cases": 37},
            *grid(bar=(0.02, 0.17, 0.5, 0.71, 0.9, 0.98), cases=(10, 55, 210, 1000)),
        ),
        simulate=_at_the_bar(">="),
        fast=2,
        fast_replicates=4_000,
        note=_EXACT,
    ),
    PromiseCheck(
        name="run -> gate <=: a judge at the bar, one look",
        promise="a judge exactly at the bar passes",
        share=ALPHA / 2,
        at_least=False,
        points=({"bar": 0.17, "cases": 160}, *grid(bar=(0.02, 0.1, 0.29, 0.5, 0.83, 0.98), cases=(10, 55, 210, 1000))),
        simulate=_at_the_bar("<="),
        fast=1,
        fast_replicates=4_000,
        note=_EXACT,
    ),
)


@cache
def chosen_interval(right: int, wrong: int, *, candidates: int) -> Interval:
    """Return the interval of the precision of one of so many candidates, of which so many decisions are right."""
    golds = ["PASS"] * right + ["FAIL"] * wrong
    items = [Judged(gold=gold, verdict="PASS", status="decided") for gold in golds]
    return interval_of(measure_calibration(items, candidates=candidates).precision)


def _best(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    """Equally good candidates that err independently of each other, which makes the luck of the best one largest."""
    labels, candidates = int(point["labels"]), int(point["candidates"])
    best = generator.binomial(labels, point["precision"], (studies, candidates)).max(axis=1)
    low, high = each_distinct([best, labels - best], partial(chosen_interval, candidates=candidates))
    return ((low <= point["precision"]) & (point["precision"] <= high)).astype(np.float64)


_POINTS: Final = grid(labels=(10, 100, 400), candidates=(2, 5, 20), precision=(0.55, 0.8, 0.97))
CHOOSING: tuple[Check, ...] = (
    PromiseCheck(
        name="label -> calibrate several -> choose: precision of the best",
        promise="the interval of the chosen candidate holds the truth",
        share=0.95,
        at_least=True,
        points=({"labels": 130, "candidates": 7, "precision": 0.83}, *_POINTS),
        simulate=_best,
        fast=1,
        fast_replicates=400,
    ),
)
