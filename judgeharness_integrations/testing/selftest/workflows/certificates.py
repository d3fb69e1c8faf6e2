"""Certify -> apply: how often decisions above a certified threshold agree with people less often than promised."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.certifying.sequence import step_tests
from judgeharness_integrations.testing.selftest.check import Check, Floats, Point, PromiseCheck, grid

__all__ = ["CERTIFYING", "DELTA", "Population", "planted_population", "violates"]

Bools: TypeAlias = NDArray[np.bool_]

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


def _clustered(point: Point, studies: int, generator: np.random.Generator) -> Floats:
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
        simulate=_clustered,
        fast=1,
        fast_replicates=200,
    ),
)
