"""Pilot -> plan -> run -> compare: whether studies of the planned size deliver what the plan promises.

Cases have a chance of a positive sample of their own, beta-distributed; under each perturbation another one around it.
A pilot is drawn and planned on, and one study of the planned size is drawn anew, whose interval or test is made by what
`report` and `compare` call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import itemgetter
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root_scalar
from scipy.special import betaincinv
from scipy.stats import betabinom

from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.planning import Goal, Pilot, pilot_of
from judgeharness_integrations.analysis.planning.report import Wanted, truths_of
from judgeharness_integrations.analysis.planning.study import cases_of, level_of
from judgeharness_integrations.analysis.statistics.paired import mcnemar_p
from judgeharness_integrations.testing.selftest.check import Check, Floats, Point, PromiseCheck, grid
from judgeharness_integrations.testing.selftest.proportions import clustered_hits, equal_clusters
from judgeharness_integrations.verdictlog.row import VerdictRow

Bools: TypeAlias = NDArray[np.bool_]
Design: TypeAlias = tuple[int, int]

_BETWEEN: Final = 0.5  # shares of the variance of a sample between cases, and of what is left between perturbations
_WITHIN: Final = 0.3
_POINTS: Final = (np.arange(4000) + 0.5) / 4000
_PILOT: Final = (2, 3)
_NAMES: Final = ("none", "typo")
_EDGE: Final = 1e-9
_MOST_CASES: Final = 20_000  # of a study: more cases than that only make an interval narrower
_SIZE: Final = 5


@cache
def chances(rate: float) -> Floats:
    """Return quantiles (4000,) of the chance of a positive sample over cases."""
    size = 1 / _BETWEEN - 1
    found: Floats = betaincinv(rate * size, (1 - rate) * size, _POINTS)
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
    before: Bools = generator.random(shape) < np.interp(first, _POINTS, decided(rate, design))
    after: Bools = generator.random(shape) < np.interp(second, _POINTS, decided(other, design))
    return before, after


def is_found(before: Bools, after: Bools, design: Design) -> bool:
    """Whether the test that `compare` makes finds a difference between decisions (cases,) about two systems."""
    p = mcnemar_p(int((after & ~before).sum()), int((before & ~after).sum()))
    return p <= level_of(design[0] * design[1])


def _design_of(point: Point) -> Design:
    return int(point["perturbations"]), int(point["repetitions"])


def _width(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    """Pilots with one sample a case, whose plans depend on the number of positive ones alone."""
    rate, cases, goal = point["rate"], int(point["pilot"]), Goal(value=point["width"])

    def study() -> float:
        planned_cases = _planned_once(int(generator.binomial(cases, rate)), cases, goal)
        if planned_cases is None:
            return np.nan
        return is_narrow(int(generator.binomial(planned_cases, rate)), planned_cases, goal.value)

    return _of(study, studies)


def _difference(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    rate, design = point["rate"], _design_of(point)
    goal = Goal(kind="difference", value=point["difference"])

    def study() -> float:
        cases = cases_planned(drawn_pilot(generator, rate, int(point["pilot"])), goal, design)
        if cases is None:
            return np.nan
        return is_found(*two_systems(generator, goal, rate, design, (min(cases, _MOST_CASES),)), design)

    return _of(study, studies)


def _single_difference(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    """Pilots with one sample a case, of which the chance of a case is not known, and studies of one or more a case."""
    rate, cases, design = point["rate"], int(point["pilot"]), _design_of(point)
    goal = Goal(
        kind="difference", value=point["difference"], correlation=point["correlation"], assurance=point["assured"]
    )

    def study() -> float:
        planned_cases = _planned_once(int(generator.binomial(cases, rate)), cases, goal, design)
        if planned_cases is None:
            return np.nan
        return is_found(*two_systems(generator, goal, rate, design, (min(planned_cases, _MOST_CASES),)), design)

    return _of(study, studies)


def _clustered_width(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    """Pilots of a few clusters; a study of more than 20,000 cases is cut there, which makes its interval wider."""
    goal = Goal(value=point["width"])
    facts: dict[str, Any] = {"rate": point["rate"], "correlation": point["correlation"], "size": _SIZE, "replicates": 1}

    def study() -> float:
        clusters = int(point["clusters"])
        [said] = clustered_hits(generator, clusters=clusters, **facts)
        rows = [
            VerdictRow(case_id=f"c{case}", verdict="PASS" if hit else "FAIL", attributes={"cluster": f"k{key}"})
            for case, (hit, key) in enumerate(zip(said, equal_clusters(clusters, _SIZE).tolist(), strict=True))
        ]
        cases = cases_planned(pilot_of(rows), goal, (1, 1))
        if cases is None:
            return np.nan
        run = max(2, round(min(cases, _MOST_CASES) / _SIZE))
        [hits] = clustered_hits(generator, clusters=run, **facts)
        found = Rate.over(hits.tolist(), equal_clusters(run, _SIZE).tolist())
        return found is not None and found.high - found.low <= goal.value

    return _of(study, studies)


def _of(study: Callable[[], float], studies: int) -> Floats:
    return np.array([study() for _ in range(studies)], dtype=np.float64)


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
