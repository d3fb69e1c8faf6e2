"""The alternative annotator test: sizes of its tests at the edge of the null hypothesis, intervals of rho."""

from __future__ import annotations

from itertools import product

import numpy as np

from judgeharness_integrations.agreement.alttest.advantage import Advantage, Tally, advantage
from judgeharness_integrations.agreement.alttest.ballots import Ballots, Replies
from judgeharness_integrations.agreement.alttest.hypothesis import clustered_test, t_test, tango_test
from judgeharness_integrations.agreement.alttest.scores import closeness
from judgeharness_integrations.agreement.alttest.winningrate import rho_difference, winning_rate
from judgeharness_integrations.agreement.panels.panel import Panel
from judgeharness_integrations.testing.selftest.check import Check, Floats, IntervalCheck, Point, SizeCheck, each, grid
from judgeharness_integrations.testing.selftest.clusters import equal_clusters

__all__ = ["ALT_TESTS"]

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


def _rho(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    found = (winning_rate(_advantages(point, generator)[0]) for _ in range(replicates))
    low, high = each(None if rate is None else rate.interval for rate in found)
    return low, high, true_rho(point["human"], point["first"])


def _difference(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Floats, Floats, float]:
    pairs = (_advantages(point, generator) for _ in range(replicates))
    low, high = each(rho_difference(*pair, min_instances=_LEAST).interval for pair in pairs)
    return low, high, true_rho(point["human"], point["first"]) - true_rho(point["human"], point["second"])


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
