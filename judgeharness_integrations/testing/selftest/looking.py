"""Gates that are looked at again and again, and certificates that are applied: what is promised, and delivered."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.analysis.calibration.drift import DEFAULT_ALPHA
from judgeharness_integrations.analysis.certifying.measuring import step_tests
from judgeharness_integrations.analysis.gates.sequential import ALPHA
from judgeharness_integrations.analysis.sequential import log_e_mean, log_e_rate, most_below, wrong_evidence
from judgeharness_integrations.analysis.statistics.proportions import sign_test

from .check import Bools, Check, Floats, Point, PromiseCheck, grid

_NEEDED: Final = math.log(2 / ALPHA)
_CELLS: Final = 1_000_000
_TOGETHER: Final = 5  # cases of a cluster: gates about a population take clusters of one size
_WORTH: Final = 4.0  # how far scores scatter: a beta distribution worth so many observations


def passes_at_some_look(
    hits: Floats, bar: float, *, size: int | None = None, weights: Floats | None = None, most: float = 1.0
) -> Bools:
    """Return which paths pass the gate `>= bar` at any of their looks, one after every unit.

    The evidence is that of `gates.looking.weigh`, which asks for its value at the last unit.

    Args:
        hits: of shape (paths, units): 0 or 1, or where `weights` are given what the cases of a unit come to.
        bar: the rate to clear.
        size: units of the suite; None for a population.
        weights: cases of each unit, of the same shape.
        most: the largest of them.

    """
    if weights is None:
        evidence = log_e_rate(hits, bar, size=size)
    else:
        evidence = log_e_mean(hits, weights, bar, most=most, size=size)
    found: Bools = np.logical_or.reduce(evidence >= _NEEDED, axis=-1)
    return found


def _size(cells: int) -> int:
    """Return how many studies of so many numbers each are held at once."""
    return max(1, _CELLS // cells)


def _in_chunks(studies: int, size: int, happened: Callable[[int], Bools]) -> Floats:
    """Return what happened in all studies, so many of which are held at once."""
    chunks = [min(size, studies - start) for start in range(0, studies, size)]
    return np.concatenate([happened(count) for count in chunks]).astype(np.float64)


def _population(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    looks, bar = int(point["looks"]), point["bar"]

    def passed(count: int) -> Bools:
        return passes_at_some_look((generator.random((count, looks)) < bar).astype(np.float64), bar)

    return _in_chunks(studies, _size(looks), passed)


def _suite(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    """The best suite that does not clear the bar, asked in random order until nothing is left."""
    size, bar = int(point["cases"]), point["bar"]
    cases = np.arange(size) < most_below(bar, size)

    def passed(count: int) -> Bools:
        orders = generator.permuted(np.tile(cases.astype(np.float64), (count, 1)), axis=1)
        return passes_at_some_look(orders, bar, size=size)

    return _in_chunks(studies, _size(size), passed)


def _clustered(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    """Clusters of five cases whose rates vary as a beta distribution: the cluster is the unit."""
    units, bar = int(point["clusters"]), point["bar"]
    spread = (1 - point["correlation"]) / point["correlation"]

    def passed(count: int) -> Bools:
        weights = np.full((count, units), _TOGETHER)
        rates = generator.beta(bar * spread, (1 - bar) * spread, (count, units))
        hits = generator.binomial(weights, rates).astype(np.float64)
        return passes_at_some_look(hits, bar, weights=weights.astype(np.float64), most=_TOGETHER)

    return _in_chunks(studies, _size(24 * units), passed)


def _scores(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    """Scores on their scale from 0 to 1 whose mean is the bar."""
    looks, bar = int(point["looks"]), point["bar"]

    def passed(count: int) -> Bools:
        scores = generator.beta(bar * _WORTH, (1 - bar) * _WORTH, (count, looks))
        return passes_at_some_look(scores, bar, weights=np.ones_like(scores))

    return _in_chunks(studies, _size(24 * looks), passed)


_BARS: Final = (0.02, 0.17, 0.5, 0.71, 0.93, 0.98)
_PASSED: Final = "a judge exactly at the bar passes at one of the looks, one after every case"
LOOKING: tuple[Check, ...] = (
    PromiseCheck(
        name="run --until: a judge at the bar",
        promise=_PASSED,
        share=ALPHA / 2,
        at_least=False,
        points=(
            {"bar": 0.83, "looks": 700},
            {"bar": 0.93, "looks": 300},
            {"bar": 0.17, "looks": 300},
            *grid(bar=_BARS, looks=(10, 100, 2_000)),
        ),
        simulate=_population,
        fast=3,
        fast_replicates=1_000,
    ),
    PromiseCheck(
        name="run --until, about this suite: the best suite below the bar",
        promise="it passes at one of the looks, one after every case",
        share=ALPHA / 2,
        at_least=False,
        points=({"bar": 0.83, "cases": 137}, *grid(bar=_BARS, cases=(60, 400))),
        simulate=_suite,
        fast=1,
        fast_replicates=1_000,
    ),
    PromiseCheck(
        name="run --until, clusters: a judge at the bar",
        promise="a judge exactly at the bar passes at one of the looks, one after every cluster",
        share=ALPHA / 2,
        at_least=False,
        points=(
            {"bar": 0.83, "clusters": 90, "correlation": 0.3},
            *grid(bar=(0.02, 0.31, 0.93, 0.98), clusters=(3, 40, 400), correlation=(0.3,)),
        ),
        simulate=_clustered,
        fast=1,
    ),
    PromiseCheck(
        name="report --sequential, scores: a judge at the bar",
        promise=_PASSED,
        share=ALPHA / 2,
        at_least=False,
        points=({"bar": 0.61, "looks": 150}, *grid(bar=(0.02, 0.31, 0.93, 0.98), looks=(10, 500))),
        simulate=_scores,
        fast=1,
    ),
)
YEAR: Final = 365
_CHUNK: Final = 100_000  # errors of one day that are held at once


def daily_errors(
    chances: Floats, *, studies: int, generator: np.random.Generator, days: int = YEAR
) -> NDArray[np.bool_]:
    """Return which cases an unchanged judge gets wrong, of shape (studies, days and the baseline, cases).

    Args:
        chances: how often it is wrong about each case.
        studies: how many judges.
        generator: of the answers.
        days: checks after the baseline.

    """
    found: Bools = generator.random((studies, days + 1, len(chances))) < chances
    return found


def daily_alarms(wrong: NDArray[np.bool_]) -> Bools:
    """Return which studies call the judge drifted on any day, by the rule of `calibration.drift` with its history.

    Half of the level goes to the exact test of the first check against the baseline, half to the evidence of all days.

    Args:
        wrong: of shape (studies, days and the baseline, cases).

    """
    change = wrong[:, 1].astype(np.int64) - wrong[:, 0]
    rose, fell = ((change == side).sum(axis=-1).tolist() for side in (1, -1))
    tests = [sign_test(up, down) for up, down in zip(rose, fell, strict=True)]
    first = np.array([p is not None and p <= DEFAULT_ALPHA / 2 for p in tests])
    later: Bools = np.logical_or.reduce(wrong_evidence(wrong)[:, 1:] >= 2 / DEFAULT_ALPHA, axis=-1)
    return first | later


def _noise(point: Point) -> Floats:
    """Return a third of the anchors at the full noise, a third at half of it, and a third about which it is certain."""
    anchors = int(point["anchors"])
    return point["noise"] * np.resize([1.0, 0.5, 0.0], anchors)


def _year(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    chances = _noise(point)
    size = max(1, math.ceil(_CHUNK / len(chances) / 10))

    def alarmed(count: int) -> Bools:
        return daily_alarms(daily_errors(chances, studies=count, generator=generator))

    return _in_chunks(studies, size, alarmed)


DRIFTING: tuple[Check, ...] = (
    PromiseCheck(
        name="calibrate -> a year of daily checks: false alarms",
        promise="an unchanged, noisy judge is called drifted on some day of the year",
        share=DEFAULT_ALPHA,
        at_least=False,
        points=(
            {"anchors": 13, "noise": 0.31},
            {"anchors": 50, "noise": 0.07},
            *grid(anchors=(1, 3, 10, 50), noise=(0.02, 0.5)),
            *grid(anchors=(23,), noise=(0.13, 0.98)),
        ),
        simulate=_year,
        fast=2,
    ),
)


_CASES: Final = 20_000
_HALF: Final = 0.5
DELTA: Final = 0.1
_UNLABELLED: Final = 3  # decisions without a label for each one with, of which the grid is made as well
_ROUNDING: Final = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class Population:
    """Decided cases that studies are drawn from: how sure each is, and whether it is wrong. Its risk is the truth."""

    scores: Floats
    wrong: Bools

    def risk(self, threshold: float) -> float:
        """Return how often decisions at least as sure are wrong."""
        return float(self.wrong[self.scores >= threshold].mean())

    def violated(self, threshold: float, *, agreement: float) -> bool:
        """Whether they agree less often than that."""
        return self.risk(threshold) > 1 - agreement + _ROUNDING


@cache
def planted_population(votes: int, error: float) -> Population:
    """Return 20,000 cases of so many votes each, of which a share `error` is decided wrongly by their majority.

    A case has a chance of its own that a vote is the majority's; the surer the votes, the rarer is an error, by the
    same law for every number of votes. Ties are not decided, and not among the cases.
    """
    generator = np.random.default_rng([votes, round(1000 * error)])
    chances = np.maximum(chances := generator.beta(1.2, 0.5, 2 * _CASES), 1 - chances)
    agreeing = generator.binomial(votes, chances)
    agreeing = np.maximum(agreeing, votes - agreeing)
    kept = np.flatnonzero(2 * agreeing != votes)[:_CASES] if votes > 1 else np.arange(_CASES)
    doubt = 1.02 - chances[kept]
    wrong = generator.random(len(kept)) < np.minimum(1.0, error * doubt / doubt.mean())
    return Population(scores=agreeing[kept] / votes, wrong=wrong)


def violates(
    population: Population, places: NDArray[np.int64], *, labels: int, agreement: float, size: int = 1
) -> float:
    """Return whether a certificate on drawn cases is violated: 1 or 0, and 0 where it is refused.

    Args:
        population: what they are drawn from.
        places: the cases, the labelled ones first.
        labels: how many have a label.
        agreement: what is to be certified, at a delta of .1.
        size: labelled cases in a cluster, whose members follow each other.

    """
    scores, wrong = population.scores[places], population.wrong[places]
    known = zip(scores[:labels].tolist(), wrong[:labels].tolist(), range(labels), strict=True)
    labelled = [(score, bad, place // size) for score, bad, place in known]
    steps, last = step_tests(labelled, scores.tolist(), agreement=agreement, delta=DELTA)
    return float(last is not None and population.violated(steps[last].threshold, agreement=agreement))


def _drawn(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    population, labels = planted_population(int(point["votes"]), point["error"]), int(point["labels"])
    cases = generator.integers(0, len(population.scores), (studies, labels * (1 + _UNLABELLED)))
    found = [violates(population, places, labels=labels, agreement=point["agreement"]) for places in cases]
    return np.array(found)


def _clustered_of_certificates(point: Point, studies: int, generator: np.random.Generator) -> Floats:
    """Clusters of which a share holds one case again and again: as alike as they can be."""
    population, clusters = planted_population(int(point["votes"]), point["error"]), int(point["clusters"])
    size, cases = int(point["size"]), len(population.scores)
    drawn = generator.integers(0, cases, (studies, clusters, size))
    alike = generator.random((studies, clusters, 1)) < _HALF
    labelled = np.where(alike, drawn[:, :, :1], drawn).reshape(studies, -1)
    places = np.concatenate([labelled, generator.integers(0, cases, labelled.shape)], axis=1)
    labels, agreement = clusters * size, point["agreement"]
    return np.array([violates(population, one, labels=labels, agreement=agreement, size=size) for one in places])


_VIOLATED: Final = "decisions above the certified threshold agree with people less often than certified"
CERTIFYING: tuple[Check, ...] = (
    PromiseCheck(
        name="certify -> apply: violations",
        promise=_VIOLATED,
        share=DELTA,
        at_least=False,
        points=(
            {"votes": 5, "error": 0.11, "labels": 170, "agreement": 0.9},
            {"votes": 1, "error": 0.107, "labels": 190, "agreement": 0.9},  # just above the bar, with one threshold
            {"votes": 2, "error": 0.17, "labels": 90, "agreement": 0.85},
            *grid(votes=(1, 6, 30), error=(0.02, 0.13, 0.31), labels=(30, 200), agreement=(0.93,)),
            *grid(votes=(2, 9), error=(0.07, 0.24), labels=(10, 500), agreement=(0.8,)),
        ),
        simulate=_drawn,
        fast=2,
        fast_replicates=300,
        note="refusals violate nothing, and count among the studies",
    ),
    PromiseCheck(
        name="certify -> apply: violations, clusters of cases half of which are copies",
        promise=_VIOLATED,
        share=DELTA,
        at_least=False,
        points=(
            {"votes": 5, "error": 0.24, "clusters": 60, "size": 3, "agreement": 0.8},
            {"votes": 1, "error": 0.107, "clusters": 190, "size": 2, "agreement": 0.9},
            *grid(votes=(5,), error=(0.11, 0.24), clusters=(3, 40, 150), size=(2, 5), agreement=(0.8,)),
        ),
        simulate=_clustered_of_certificates,
        fast=1,
        fast_replicates=200,
    ),
)
