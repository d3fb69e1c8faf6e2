"""Whole workflows: label, calibrate and gate; pilot, plan, run and compare: what is promised, and delivered.

Cases have a chance of a positive sample of their own, beta-distributed; under each perturbation another one around it.
A pilot is drawn and planned on, and one study of the planned size is drawn anew, whose interval or test is made by what
`report` and `compare` call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from operator import itemgetter
from typing import Any, Final, TypeAlias

import numpy as np
from scipy.optimize import root_scalar
from scipy.special import betaincinv
from scipy.stats import betabinom

from judgeharness_integrations.analysis.calibration.corrected import corrected_rate
from judgeharness_integrations.analysis.calibration.items import Judged
from judgeharness_integrations.analysis.calibration.measure import CriterionCalibration, measure_calibration
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.gates.checking import judged
from judgeharness_integrations.analysis.gates.gate import parse_expression
from judgeharness_integrations.analysis.gates.metrics import measured_rate
from judgeharness_integrations.analysis.gates.sequential import ALPHA
from judgeharness_integrations.analysis.planning import Goal, Pilot, pilot_of
from judgeharness_integrations.analysis.planning.report import Wanted, truths_of
from judgeharness_integrations.analysis.planning.study import cases_of, level_of
from judgeharness_integrations.analysis.statistics.paired import mcnemar_p
from judgeharness_integrations.verdictlog.row import VerdictRow

from .check import (
    Bools,
    Check,
    Floats,
    Interval,
    Point,
    PromiseCheck,
    Studies,
    each_distinct,
    grid,
    interval_of,
    one_by_one,
)
from .proportions import clustered_hits, equal_clusters, errors_table

_ITEMS: Final = 8  # items of a suite for each of its labels
_SIZE: Final = 4
_ENOUGH: Final = 100


def _coverage(point: Point) -> float:
    """Return what a nominal 95 % interval of counts is held to: counts are discrete, and few of them more so."""
    return 0.93 if point["labels"] >= _ENOUGH else 0.91


def _covers(low: Floats, high: Floats, truth: float) -> Floats:
    return np.where(np.isnan(low), np.nan, (low <= truth) & (truth <= high))


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
    labels, cells = int(point["labels"]), errors_table(point)
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

        drawn = generator.multinomial(int(point["labels"]), errors_table(point), size=studies)
        return _covers(*each_distinct(list(drawn.T), interval), truth(point))

    return simulate


def _precision(point: Point) -> float:
    both, _, wrong, _ = errors_table(point).tolist()
    return float(both / (both + wrong))


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
    cells = errors_table({"rate": point["rate"], "sensitivity": point["passes"], "specificity": 1 - point["passes"]})
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


Design: TypeAlias = tuple[int, int]

_BETWEEN: Final = 0.5  # shares of the variance of a sample between cases, and of what is left between perturbations
_WITHIN: Final = 0.3
_PLANNING_POINTS: Final = (np.arange(4000) + 0.5) / 4000
_PILOT: Final = (2, 3)
_NAMES: Final = ("none", "typo")
_EDGE: Final = 1e-9
_MOST_CASES: Final = 20_000  # of a study: more cases than that only make an interval narrower
_PLANNING_SIZE: Final = 5


@cache
def chances(rate: float) -> Floats:
    """Return quantiles (4000,) of the chance of a positive sample over cases."""
    size = 1 / _BETWEEN - 1
    found: Floats = betaincinv(rate * size, (1 - rate) * size, _PLANNING_POINTS)
    return found


def perturbed(generator: np.random.Generator, cases: Floats, count: int) -> Floats:
    """Return (..., count) chances under perturbations of cases."""
    size = 1 / _WITHIN - 1
    means = np.repeat(np.clip(cases, _EDGE, 1 - _EDGE)[..., None], count, axis=-1)
    return generator.beta(means * size, (1 - means) * size)


@cache
def decided(rate: float, design: Design) -> Floats:
    """Return the chance (4000,) that the majority of a case's samples is positive, by quantile; a tie abstains."""
    size = 1 / _WITHIN - 1
    cases = np.clip(chances(rate), _EDGE, 1 - _EDGE)[:, None]
    one = counts = betabinom.pmf(np.arange(design[1] + 1), design[1], cases * size, (1 - cases) * size)
    for _ in range(design[0] - 1):
        counts = np.array([np.convolve(left, right) for left, right in zip(counts, one, strict=True)])
    found: Floats = counts[:, design[0] * design[1] // 2 + 1 :].sum(axis=1)
    return found


def rate_decided(rate: float, design: Design) -> float:
    """Return the rate of positive decisions."""
    return float(decided(rate, design).mean())


@cache
def other_rate(rate: float, design: Design, difference: float) -> float:
    """Return the rate of samples whose decisions lie so much nearer to one half."""
    here = rate_decided(rate, design)
    wanted = here + (difference if here < 0.5 else -difference)  # noqa: PLR2004 - one half

    def apart(rate: float) -> float:
        return rate_decided(float(rate), design) - wanted

    return float(root_scalar(apart, bracket=(1e-3, 1 - 1e-3), xtol=1e-6).root)


def pilot_rows(generator: np.random.Generator, rate: float, cases: int, design: Design = _PILOT) -> list[VerdictRow]:
    """Return the rows of a pilot with so many perturbations and repetitions a case."""
    drawn = perturbed(generator, generator.choice(chances(rate), cases), design[0])
    said = generator.random((cases, *design)) < drawn[..., None]
    return [
        VerdictRow(
            case_id=f"c{case}", perturbation=_NAMES[p], repetition=r, verdict="PASS" if said[case, p, r] else "FAIL"
        )
        for case, p, r in np.ndindex(*said.shape)
    ]


def drawn_pilot(generator: np.random.Generator, rate: float, cases: int) -> Pilot:
    """Return a pilot of two perturbations, asked three times each."""
    return pilot_of(pilot_rows(generator, rate, cases))


def cases_planned(found: Pilot, goal: Goal, design: Design) -> int | None:
    """Return how many cases a plan says a design takes; None where it says that none are enough.

    It is what `planned` asks for each of its designs; the others are not needed here.
    """
    return cases_of(truths_of(Wanted(goal=goal), found).study(*design))


@cache
def _planned_once(positives: int, cases: int, goal: Goal, design: Design = (1, 1)) -> int | None:
    """Return the cases planned by a pilot of one sample a case, of which no more is known than this count."""
    said = ["PASS"] * positives + ["FAIL"] * (cases - positives)
    rows = [VerdictRow(case_id=f"c{case}", verdict=verdict) for case, verdict in enumerate(said)]
    return cases_planned(pilot_of(rows), goal, design)


def is_narrow(positives: int, cases: int, width: float) -> bool:
    """Whether the interval that `report` prints of a rate is no wider."""
    found = Rate.of(positives, cases)
    return found is not None and found.high - found.low <= width


def two_systems(
    generator: np.random.Generator, goal: Goal, rate: float, design: Design, shape: tuple[int, ...]
) -> tuple[Bools, Bools]:
    """Return decisions about two systems on the same cases, so much apart; half of the cases go alike in both."""
    first = generator.random(shape)
    second = np.where(generator.random(shape) < goal.correlation, first, generator.random(shape))
    other = other_rate(rate, design, goal.value)
    before: Bools = generator.random(shape) < np.interp(first, _PLANNING_POINTS, decided(rate, design))
    after: Bools = generator.random(shape) < np.interp(second, _PLANNING_POINTS, decided(other, design))
    return before, after


def is_found(before: Bools, after: Bools, design: Design) -> bool:
    """Whether the test that `compare` makes finds a difference between decisions (cases,) about two systems."""
    p = mcnemar_p(int((after & ~before).sum()), int((before & ~after).sum()))
    return p <= level_of(design[0] * design[1])


def _design_of(point: Point) -> Design:
    return int(point["perturbations"]), int(point["repetitions"])


@one_by_one
def _width(point: Point, generator: np.random.Generator) -> float:
    """Pilots with one sample a case, whose plans depend on the number of positive ones alone."""
    rate, pilot, goal = point["rate"], int(point["pilot"]), Goal(value=point["width"])
    cases = _planned_once(int(generator.binomial(pilot, rate)), pilot, goal)
    return np.nan if cases is None else is_narrow(int(generator.binomial(cases, rate)), cases, goal.value)


@one_by_one
def _difference(point: Point, generator: np.random.Generator) -> float:
    goal = Goal(kind="difference", value=point["difference"])
    pilot = drawn_pilot(generator, point["rate"], int(point["pilot"]))
    return _told_apart(point, generator, goal, cases_planned(pilot, goal, _design_of(point)))


@one_by_one
def _single_difference(point: Point, generator: np.random.Generator) -> float:
    """Pilots with one sample a case, of which the chance of a case is not known, and studies of one or more a case."""
    goal = Goal(
        kind="difference", value=point["difference"], correlation=point["correlation"], assurance=point["assured"]
    )
    positives, pilot = int(generator.binomial(int(point["pilot"]), point["rate"])), int(point["pilot"])
    return _told_apart(point, generator, goal, _planned_once(positives, pilot, goal, _design_of(point)))


def _told_apart(point: Point, generator: np.random.Generator, goal: Goal, cases: int | None) -> float:
    """Return whether a study of so many cases finds the difference."""
    if cases is None:
        return np.nan
    design = _design_of(point)
    return is_found(*two_systems(generator, goal, point["rate"], design, (min(cases, _MOST_CASES),)), design)


@one_by_one
def _clustered_width(point: Point, generator: np.random.Generator) -> float:
    """Pilots of a few clusters; a study of more than 20,000 cases is cut there, which makes its interval wider."""
    goal, clusters = Goal(value=point["width"]), int(point["clusters"])
    facts: dict[str, Any] = {
        "rate": point["rate"],
        "correlation": point["correlation"],
        "size": _PLANNING_SIZE,
        "replicates": 1,
    }
    [said] = clustered_hits(generator, clusters=clusters, **facts)
    rows = [
        VerdictRow(case_id=f"c{case}", verdict="PASS" if hit else "FAIL", attributes={"cluster": f"k{key}"})
        for case, (hit, key) in enumerate(zip(said, equal_clusters(clusters, _PLANNING_SIZE).tolist(), strict=True))
    ]
    cases = cases_planned(pilot_of(rows), goal, (1, 1))
    if cases is None:
        return np.nan
    run = max(2, round(min(cases, _MOST_CASES) / _PLANNING_SIZE))
    [hits] = clustered_hits(generator, clusters=run, **facts)
    found = Rate.over(hits.tolist(), equal_clusters(run, _PLANNING_SIZE).tolist())
    return found is not None and found.high - found.low <= goal.value


_WIDTHS = (
    {"rate": 0.55, "pilot": 10, "width": 0.1},
    {"rate": 0.5, "pilot": 25, "width": 0.04},
    {"rate": 0.31, "pilot": 10, "width": 0.1},
    {"rate": 0.93, "pilot": 17, "width": 0.1},
    {"rate": 0.02, "pilot": 40, "width": 0.08},
    *grid(rate=(0.02, 0.07, 0.98), pilot=(10, 150), width=(0.1,)),
    *grid(rate=(0.5, 0.55), pilot=(150,), width=(0.1,)),
    *grid(rate=(0.2, 0.85), pilot=(25,), width=(0.04, 0.3)),
)
_APART = (
    {"rate": 0.3, "pilot": 60, "perturbations": 2, "repetitions": 2, "difference": 0.13},
    *grid(rate=(0.02, 0.31, 0.93), pilot=(60,), perturbations=(1,), repetitions=(1, 3), difference=(0.12,)),
    *grid(rate=(0.07, 0.7), pilot=(24,), perturbations=(2,), repetitions=(5,), difference=(0.09,)),
    *grid(rate=(0.4,), pilot=(10,), perturbations=(1,), repetitions=(1,), difference=(0.2,)),
)
_ONCE: dict[str, tuple[float, ...]] = {"perturbations": (1,), "repetitions": (1,), "correlation": (0.0, 0.5)}
_SINGLE = (
    *grid(rate=(0.42, 0.07, 0.93), pilot=(60,), difference=(0.17,), assured=(0.8,), **_ONCE),
    *grid(rate=(0.7, 0.95), pilot=(60,), difference=(0.05, 0.1), assured=(0.9,), **_ONCE),
    *grid(
        rate=(0.6, 0.9),
        pilot=(60,),
        difference=(0.1,),
        assured=(0.9,),
        perturbations=(1, 2),
        repetitions=(2,),
        correlation=(0.0,),
    ),
)
_CLUSTERS = (
    *grid(rate=(0.31,), clusters=(12,), correlation=(0.2,), width=(0.1,)),
    *grid(rate=(0.07, 0.6, 0.93), clusters=(3, 30), correlation=(0.05, 0.4), width=(0.12,)),
)
PLANNING: tuple[Check, ...] = (
    PromiseCheck(
        name="pilot -> plan -> run: width",
        promise="the interval of the rate is no wider than planned",
        share=0.8,
        at_least=True,
        points=_WIDTHS,
        simulate=_width,
        fast=5,
        note="one sample a case; the share is the plan's assurance, the pilot's own luck included",
    ),
    PromiseCheck(
        name="pilot -> plan -> run: width, clusters of five cases",
        promise="the interval of the rate is no wider than planned",
        share=0.8,
        at_least=True,
        points=_CLUSTERS,
        simulate=_clustered_width,
        fast=1,
        fast_replicates=120,
        note="how alike cases of a cluster are, and what the rate is worth then, is left open by the mean squares of "
        "beta-binomial hits",
    ),
    PromiseCheck(
        name="pilot -> plan -> run -> compare: difference",
        promise="the difference between two systems is found",
        share=0.8,
        at_least=True,
        points=_APART,
        simulate=_difference,
        fast=1,
        fast_replicates=30,
        note="a pilot of two perturbations x three repetitions; perturbations and repetitions are those of the run",
    ),
    PromiseCheck(
        name="pilot of one sample a case -> plan -> run -> compare: difference",
        promise="the difference between two systems is found",
        share=itemgetter("assured"),
        at_least=True,
        points=_SINGLE,
        simulate=_single_difference,
        fast=2,
        note="how much of a verdict is noise is not known then: the plan holds whatever two systems have in common, "
        "and whatever ties of two samples; where they have nothing in common no more is found than is promised",
    ),
)
