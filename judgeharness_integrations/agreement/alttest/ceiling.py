"""Could any candidate pass? Panels are redrawn from what the humans themselves said about each item.

Every annotator's answer is drawn anew from all human answers about the item, and the best candidate gives the answer
closest to all of them: the most frequent label, the mean of numbers, the set nearest to the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.agreement.alttest.advantage import Tally
from judgeharness_integrations.agreement.alttest.ballots import Ballots, Replies
from judgeharness_integrations.agreement.alttest.closeness import Closeness
from judgeharness_integrations.agreement.alttest.hypothesis import rejections, t_test

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Ceiling", "ceilings"]

_REDRAWS = (5, 200)  # at least, at most
_CELLS = 400_000  # drawn for the panel as it is; a quarter for a panel of another size
_ENOUGH = 0.8
_DOUBTFUL = 0.5
_EPSILONS = tuple(step / 20 for step in range(1, 11))
_SIZES = (3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30)

Made = Callable[[Ballots], Closeness]


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """Whether the best candidate there could be passes, where none of those tested does.

    `passes` is the share of `redraws` in which it does. Below one half, `epsilon_needed` is the smallest epsilon
    (steps of .05 up to .5) and `annotators_needed` the smallest panel (up to 30 annotators who label every item) with
    which it passes in at least 80 % of the redraws; None where none does.
    """

    score: str
    epsilon: float
    multiplicative: bool
    redraws: int
    passes: float
    epsilon_needed: float | None = None
    annotators_needed: int | None = None

    @property
    def hopeless(self) -> bool:
        """Whether the humans disagree so much that even the best candidate fails more often than not."""
        return self.passes < _DOUBTFUL


@dataclass(frozen=True, kw_only=True)
class _Pools:
    """What there is to draw from: items (sorted cells), and the best reply to each."""

    ballots: Ballots
    start: NDArray[np.intp]
    best: Replies

    def draw(self, items: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
        """Return a cell of the pool of each of some items."""
        votes = self.ballots.votes[items]
        drawn: NDArray[np.intp] = self.start[items] + (rng.random(len(items)) * votes).astype(np.intp)
        return drawn


def ceilings(
    ballots: Ballots,
    made: Made,
    *,
    score: str,
    epsilons: tuple[float, ...],
    multiplicative: bool,
    q: float,
    min_instances: int,
    seed: int,
) -> tuple[Ceiling, ...]:
    """Return the ceiling at each epsilon; empty when nobody could be tested.

    Args:
        ballots: what the humans said.
        made: ballots -> the score over them.
        score: its name.
        epsilons: those at which no candidate passed.
        multiplicative: the kind of epsilon.
        q: level of the step-up.
        min_instances: instances an annotator needs.
        seed: of the redraws.

    """
    pools = _pools(ballots, made)
    annotator, item = _seats(pools.ballots)
    tested = np.flatnonzero(np.bincount(annotator, minlength=len(ballots.annotators)) >= min_instances)
    if not epsilons or not len(tested):
        return ()
    rng = np.random.default_rng(seed)
    tally = _redrawn(pools, made, annotator, item, rng, budget=_CELLS)
    tally = Tally(human=tally.human[:, tested], tie=tally.tie[:, tested], candidate=tally.candidate[:, tested])
    share = {
        epsilon: _passing(tally, epsilon, multiplicative=multiplicative, q=q) for epsilon in {*epsilons, *_EPSILONS}
    }
    found = [
        Ceiling(
            score=score,
            epsilon=epsilon,
            multiplicative=multiplicative,
            redraws=len(tally.n),
            passes=share[epsilon],
            epsilon_needed=next((e for e in _EPSILONS if e > epsilon and share[e] >= _ENOUGH), None),
        )
        for epsilon in epsilons
    ]
    wanting = tuple(one.epsilon for one in found if one.hopeless)
    sizes = _sizes_needed(pools, made, wanting, rng, multiplicative=multiplicative, q=q)
    return tuple(
        replace(one, annotators_needed=sizes.get(one.epsilon)) if one.hopeless else replace(one, epsilon_needed=None)
        for one in found
    )


def _pools(ballots: Ballots, made: Made) -> _Pools:
    """Return the items with two answers at least, in the order of their names, and the best reply to each."""
    items = np.argsort(np.array(ballots.items, str), kind="stable")
    items = items[ballots.votes[items] > 1]
    number = np.full(ballots.size, -1, np.intp)
    number[items] = np.arange(len(items))
    cells = np.flatnonzero(number[ballots.item] >= 0)
    cells = cells[np.lexsort((ballots.codes[cells], number[ballots.item[cells]]))]
    kept = ballots.take(cells, item=number[ballots.item[cells]], size=len(items))
    start = np.cumsum(kept.votes) - kept.votes
    order = np.lexsort((kept.codes, -made(kept).standing.round(9), kept.item))
    best = order[start]
    numbers = None
    if kept.numbers is not None:
        numbers = np.bincount(kept.item, weights=kept.numbers, minlength=kept.size) / np.maximum(kept.votes, 1)
    everywhere = np.ones(len(items), bool)
    return _Pools(ballots=kept, start=start, best=Replies(given=everywhere, codes=kept.codes[best], numbers=numbers))


def _seats(ballots: Ballots) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return annotator and item of every cell, both in the order of names: the order of the input must not matter."""
    rank = np.argsort(np.argsort(np.array(ballots.annotators, str), kind="stable"))
    order = np.lexsort((rank[ballots.annotator], ballots.item))
    return rank[ballots.annotator][order], ballots.item[order]


def _redrawn(
    pools: _Pools,
    made: Made,
    annotator: NDArray[np.intp],
    item: NDArray[np.intp],
    rng: np.random.Generator,
    *,
    budget: int,
) -> Tally:
    """Return the wins (redraws, annotators) of panels with the given cells against the best replies."""
    size, annotators = pools.ballots.size, int(annotator.max()) + 1
    redraws = int(np.clip(budget // len(item), *_REDRAWS))
    copies = np.repeat(np.arange(redraws), len(item))
    items = np.tile(item, redraws)
    drawn = pools.ballots.take(pools.draw(items, rng), item=items + copies * size, size=size * redraws)
    best = pools.best
    replies = Replies(
        given=np.tile(best.given, redraws),
        codes=np.tile(best.codes, redraws),
        numbers=None if best.numbers is None else np.tile(best.numbers, redraws),
    )
    signs = made(drawn).signs(replies, np.arange(len(items)))
    flat = Tally.of(signs, np.tile(annotator, redraws) + copies * annotators, redraws * annotators)
    shape = (redraws, annotators)
    return Tally(human=flat.human.reshape(shape), tie=flat.tie.reshape(shape), candidate=flat.candidate.reshape(shape))


def _passing(tally: Tally, epsilon: float, *, multiplicative: bool, q: float) -> float:
    """Return the share of redraws with omega >= .5."""
    rejected = rejections(t_test(tally, epsilon, multiplicative=multiplicative).p, q)
    return float((2 * rejected >= tally.n.shape[1]).mean())


def _sizes_needed(
    pools: _Pools,
    made: Made,
    epsilons: tuple[float, ...],
    rng: np.random.Generator,
    *,
    multiplicative: bool,
    q: float,
) -> dict[float, int]:
    """Return, for every epsilon, the smallest panel with which the best candidate passes often enough.

    The sizes are tried one after the other: a larger panel is corrected for more tests, so it may well pass less often.
    """
    found: dict[float, int] = {}
    items = np.arange(pools.ballots.size)
    for size in _SIZES:
        missing = [epsilon for epsilon in epsilons if epsilon not in found]
        if not missing:
            break
        annotator, item = np.repeat(np.arange(size), len(items)), np.tile(items, size)
        tally = _redrawn(pools, made, annotator, item, rng, budget=_CELLS // 4)
        for epsilon in missing:
            if _passing(tally, epsilon, multiplicative=multiplicative, q=q) >= _ENOUGH:
                found[epsilon] = size
    return found
