"""The humans of a panel among themselves: could any candidate pass, who stands apart, what does a constant earn?

Could any candidate pass? Panels are redrawn from what the humans themselves said about each item. Every annotator's
answer is drawn anew from all human answers about the item, and the best candidate gives the answer closest to all of
them: the most frequent label, the mean of numbers, the set nearest to the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from judgeharness_integrations.verdictlog.row import verdict_text

from ..statistics.agreement import chance_corrected
from .closeness import Ballots, Closeness, Replies
from .hypothesis import Advantage, Tally, advantage, rejections, t_test

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


_LEAST_OTHERS = 3  # below, an interval of the others says next to nothing
_PAIR = 2
_LARGEST_PANEL = 200  # annotators up to which every pair is compared
_LARGEST_VOCABULARY = 300
_SAME = 1e-9


@dataclass(frozen=True, kw_only=True)
class Fellow:
    """One annotator among the others.

    `ap` is the share of fellow annotators of the same item it does at least as well as, against the rest of the panel
    (mean over its items), by the named score; `mean_kappa` is the mean Cohen kappa with the others on common items
    (numbers: with quadratic weights; sets: of whole sets). `outlying` names which of them leave the 95 % prediction
    interval of the others, mean +- t(k-1) s sqrt(1 + 1/k); None where that cannot be told.
    """

    annotator: str
    n: int
    ap: Mapping[str, float]
    mean_kappa: float | None
    outlying: tuple[str, ...] | None


def fellows(
    ballots: Ballots, standings: Mapping[str, NDArray[np.float64]], *, min_instances: int
) -> tuple[Fellow, ...]:
    """Return how annotators with at least `min_instances` shared items stand among each other.

    Args:
        ballots: what they said.
        standings: score -> (cells,) how close each answer is to the others of its item.
        min_instances: items shared with another annotator that are needed.

    """
    shared = np.flatnonzero(ballots.votes[ballots.item] >= _PAIR)
    n = np.bincount(ballots.annotator[shared], minlength=len(ballots.annotators))
    chosen = np.flatnonzero(n >= min_instances)
    if not len(chosen):
        return ()
    measures = {f"AP ({name})": _probabilities(ballots, standing, shared, n) for name, standing in standings.items()}
    kappas = _mean_kappas(ballots, chosen)
    columns = {name: values[chosen] for name, values in measures.items()}
    if kappas is not None:
        columns["mean kappa"] = kappas
    apart = {name: _apart(values) for name, values in columns.items()}
    return tuple(
        Fellow(
            annotator=ballots.annotators[place],
            n=int(n[place]),
            ap={name: float(measures[f"AP ({name})"][place]) for name in standings},
            mean_kappa=None if kappas is None or np.isnan(kappas[row]) else float(kappas[row]),
            outlying=None
            if len(chosen) <= _LEAST_OTHERS
            else tuple(name for name, found in apart.items() if found[row]),
        )
        for row, place in enumerate(chosen)
    )


def _probabilities(
    ballots: Ballots, standing: NDArray[np.float64], shared: NDArray[np.intp], n: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return (annotators,) the mean share of fellows of an item whose standing is not above one's own."""
    item = ballots.item[shared]
    order = np.lexsort((standing[shared], item))
    values, items = standing[shared][order], item[order]
    size = len(order)
    # a step up within an item starts a new group of equals; rounding makes no step
    scale = np.maximum(np.abs(values[1:]), np.abs(values[:-1]))
    step = np.r_[True, (items[1:] != items[:-1]) | (values[1:] - values[:-1] > _SAME * scale)]
    last = np.r_[np.flatnonzero(step)[1:], size][np.cumsum(step) - 1]  # one past the equals of each cell
    votes = ballots.votes[items]
    first = np.searchsorted(items, items)
    not_above = np.empty(size)
    not_above[order] = (last - first - 1) / (votes - 1)
    sums = np.bincount(ballots.annotator[shared], weights=not_above, minlength=len(n))
    return np.asarray(sums / np.maximum(n, 1), np.float64)


def _apart(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which of some values leave the prediction interval of the others; undefined ones do not."""
    found = np.zeros(len(values), bool)
    for place in np.flatnonzero(~np.isnan(values)):
        others = np.delete(values, place)
        others = others[~np.isnan(others)]
        k = len(others)
        if k >= _LEAST_OTHERS:
            reach = special.stdtrit(k - 1, 0.975) * others.std(ddof=1) * np.sqrt(1 + 1 / k)
            found[place] = abs(values[place] - others.mean()) > reach + _SAME
    return found


def _mean_kappas(ballots: Ballots, chosen: NDArray[np.intp]) -> NDArray[np.float64] | None:
    """Return (chosen,) the mean kappa with the others; None where there are too many annotators or answers."""
    if not 1 < len(chosen) <= _LARGEST_PANEL:
        return None
    row = np.full(len(ballots.annotators), -1)
    row[chosen] = np.arange(len(chosen))
    cells = np.flatnonzero(row[ballots.annotator] >= 0)
    place = (row[ballots.annotator[cells]], np.unique(ballots.item[cells], return_inverse=True)[1].reshape(-1))
    shape = (len(chosen), int(place[1].max()) + 1)
    if ballots.numbers is not None:
        kappas = _concordances(ballots.numbers[cells], place, shape)
    else:
        codes = np.unique(ballots.codes[cells], return_inverse=True)[1].reshape(-1)
        if codes.max() >= _LARGEST_VOCABULARY:
            return None
        kappas = _cohen(codes, place, shape)
    np.fill_diagonal(kappas, np.nan)
    defined = ~np.isnan(kappas)
    sums = np.where(defined, kappas, 0).sum(axis=1)
    means = np.full(len(chosen), np.nan)
    np.divide(sums, defined.sum(axis=1), out=means, where=defined.any(axis=1))
    return means


def _cohen(
    codes: NDArray[np.intp], place: tuple[NDArray[np.intp], NDArray[np.intp]], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Return (annotators, annotators) Cohen's kappa on common items; NaN where one of the two never varies."""
    answered = np.zeros(shape)
    answered[place] = 1
    common = answered @ answered.T
    agreed, expected, most = np.zeros_like(common), np.zeros_like(common), np.zeros_like(common)
    for code in range(int(codes.max()) + 1):
        said = np.zeros(shape)
        said[place] = codes == code
        margin = said @ answered.T  # how often one said it on the items common with the other
        agreed += said @ said.T
        expected += margin * margin.T
        most = np.maximum(most, margin)
    constant = (most == common) | (common == most.T)
    with np.errstate(divide="ignore", invalid="ignore"):
        agreed, expected = agreed / common, expected / common**2
        return np.where(constant, np.nan, chance_corrected(agreed, expected))


def _concordances(
    numbers: NDArray[np.float64], place: tuple[NDArray[np.intp], NDArray[np.intp]], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Return (annotators, annotators) kappa with quadratic weights: 2 cov / (var + var + (mean - mean)^2)."""
    answered, values = np.zeros(shape), np.zeros(shape)
    answered[place] = 1
    values[place] = numbers - numbers.mean()
    common = answered @ answered.T
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = values @ answered.T / common
        square = values**2 @ answered.T / common
        covariance = values @ values.T / common - mean * mean.T
        variance = square - mean**2
        varies = variance > _SAME * square
        kappa = 2 * covariance / (variance + variance.T + (mean - mean.T) ** 2)
        return np.where(varies & varies.T, kappa, np.nan)


_LONGEST_NAME = 60


def constant_advantages(
    ballots: Ballots, measures: Mapping[str, Closeness], *, min_instances: int
) -> dict[str, Advantage]:
    """Return, by score, the comparisons of a candidate that always gives the humans' commonest answer.

    Of numbers it is their median. It is chosen on these very labels, which favours it.

    Args:
        ballots: what the humans said.
        measures: score -> how close an answer is.
        min_instances: see `advantage`.

    """
    code = _commonest(ballots)
    numbers = None if ballots.numbers is None else np.full(ballots.size, float(ballots.words[code]))
    replies = Replies(
        given=np.ones(ballots.size, dtype=bool), codes=np.full(ballots.size, code, np.intp), numbers=numbers
    )
    name = f"always {verdict_text(ballots.words[code]):.{_LONGEST_NAME}}"
    return {
        score: advantage(ballots, measure, replies, candidate=name, score=score, min_instances=min_instances)
        for score, measure in measures.items()
    }


def _commonest(ballots: Ballots) -> int:
    if ballots.numbers is not None:
        return int(ballots.codes[np.argsort(ballots.numbers, kind="stable")[(len(ballots.codes) - 1) // 2]])
    return int(np.bincount(ballots.codes).argmax())
