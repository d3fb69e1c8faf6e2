"""The tests of the alternative annotator test: who is closer, instance by instance, and counts of wins.

The tests of the alternative annotator test, on counts of wins: vectorised over annotators. H0: E[d] >= epsilon with d
= W_h - W_f; multiplicative: d = (1 - epsilon) W_h - W_f against 0, which is W_h - W_f / (1 - epsilon) without a
division by zero. d takes three values, so the counts of wins say everything. Every array is (..., annotators); a
p-value that is undefined is NaN here and None in reports.

The average winning rate rho of a candidate: its value, its interval, and what lies between two candidates. rho =
unweighted mean over tested annotators of mean(W_f). Its variance is linearised over items (or clusters), since the
comparisons of all annotators on one item share the candidate's answer and most of R. Degrees of freedom are those of
the effective number of items (clusters): (sum of weights)^2 / sum of squared weights.

Ties of two different answers, decided as the published code does: by the means of floating point numbers. Scores are
compared exactly, as whole numbers or within a tolerance, so that nothing that is no tie becomes one. Where that
leaves candidate and human as close to R although their answers differ, the published procedure compares two means
whose last digits rest on the order of R. They are taken here in the order of the annotators' names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from scipy import special

from ..statistics.means import t_interval
from ..statistics.paired import tango_score
from ..statistics.proportions import clustered_wilson, harmonic, step_up
from .closeness import Ballots, Closeness, Replies, Summed, chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray


def as_published(
    signs: NDArray[np.int8], closeness: Closeness, ballots: Ballots, replies: Replies, cells: NDArray[np.intp]
) -> NDArray[np.int8]:
    """Return the signs (cells,) of a score with ties of different answers decided."""
    answer = replies.codes[ballots.item[cells]]
    tied = np.flatnonzero((signs == 0) & (answer != ballots.codes[cells]))
    if not isinstance(closeness, Summed) or not len(tied):
        return signs
    decided, rest = signs.copy(), ballots.votes[ballots.item[cells[tied]]] - 1
    for size in np.unique(rest).tolist():
        group = tied[rest == size]
        for part in chunks(len(group), size):
            some = group[part]
            others = ballots.codes[_others(ballots, cells[some], size)]
            means = (
                closeness.mean(np.broadcast_to(codes[:, None], others.shape), others)
                for codes in (answer[some], ballots.codes[cells[some]])
            )
            decided[some] = np.sign(next(means) - next(means))
    return decided


def _others(ballots: Ballots, cells: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Return (cells, size) the cells of the other humans of an item, by name."""
    order, place = ballots.by_name
    first = place[cells] - ballots.seat[cells]
    along = np.arange(size)
    others: NDArray[np.intp] = order[first[:, None] + along + (along >= ballots.seat[cells][:, None])]
    return others


_PANEL = 2  # human labels an instance needs: one to leave out, one to compare with


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """Counts of wins, each (groups,): the human's alone, the candidate's alone, and ties, which both win."""

    human: NDArray[np.intp]
    tie: NDArray[np.intp]
    candidate: NDArray[np.intp]

    @cached_property
    def n(self) -> NDArray[np.intp]:
        """(groups,) instances."""
        return self.human + self.tie + self.candidate

    @classmethod
    def of(cls, signs: NDArray[np.int8], group: NDArray[np.intp], groups: int) -> Tally:
        """Count signs (1: the candidate is closer) by group."""
        counts = np.bincount(group * 3 + (signs + 1), minlength=3 * groups).reshape(groups, 3)
        return cls(human=counts[:, 0], tie=counts[:, 1], candidate=counts[:, 2])

    def take(self, groups: NDArray[np.intp]) -> Tally:
        """Return the counts of some groups."""
        return Tally(human=self.human[groups], tie=self.tie[groups], candidate=self.candidate[groups])


@dataclass(frozen=True, kw_only=True, eq=False)
class Advantage:
    """The comparisons of one candidate under one score; it serves every epsilon.

    `annotator`, `item` and `sign` (cells,) hold the kept instances of each annotator: 1 where the candidate alone wins
    (W_f = 1, W_h = 0), -1 where the human alone does, 0 where both do. `tally` counts them by annotator, `tested`
    lists the annotators with at least `min_instances`, `kept` counts the instances. `strangers` are an item of the
    humans and one of the candidate, where they have none in common.
    """

    candidate: str
    score: str
    annotator: NDArray[np.intp]
    item: NDArray[np.intp]
    sign: NDArray[np.int8]
    tally: Tally
    tested: NDArray[np.intp]
    kept: int
    strangers: tuple[str, str] | None = None

    def of_tested(self) -> NDArray[np.bool_]:
        """Return (cells,) whether a cell is of a tested annotator."""
        return np.isin(self.annotator, self.tested)


def advantage(
    ballots: Ballots, closeness: Closeness, replies: Replies, *, candidate: str, score: str, min_instances: int
) -> Advantage:
    """Compare a candidate with every human on the instances with two human labels and one of the candidate."""
    kept = (ballots.votes >= _PANEL) & replies.given
    cells = np.flatnonzero(kept[ballots.item])
    signs = as_published(closeness.signs(replies, cells), closeness, ballots, replies, cells)
    annotator = ballots.annotator[cells]
    tally = Tally.of(signs, annotator, len(ballots.annotators))
    return Advantage(
        candidate=candidate,
        score=score,
        annotator=annotator,
        item=ballots.item[cells],
        sign=signs,
        tally=tally,
        tested=np.flatnonzero(tally.n >= min_instances),
        kept=int(kept.sum()),
        strangers=_strangers(ballots, replies),
    )


def _strangers(ballots: Ballots, replies: Replies) -> tuple[str, str] | None:
    answered = np.flatnonzero(replies.given)
    if not len(answered) or ballots.votes[answered].any():
        return None
    return ballots.items[ballots.item[0]], ballots.items[answered[0]]


# Simulated at nominal .05 (half of a cluster alike, or .8 of it): of 5 equal clusters .05 to .11 were rejected, of 3
# .04 to .18, and of 2 large ones among 18 single items .28 where degrees of freedom are counted as clusters.
FEWEST_CLUSTERS = 5
_NO_DEVIATION = 1e-12
_UNEQUAL = 0.05
_tango_scores = np.vectorize(tango_score, otypes=[np.float64])


@dataclass(frozen=True, kw_only=True, eq=False)
class Tested:
    """Statistic and one-sided p-value of every annotator.

    Where cells are clustered, `clusters` (annotators,) counts them and `effective` (annotators,) is how many of equal
    size they weigh as much as.
    """

    statistic: NDArray[np.float64]
    p: NDArray[np.float64]
    clusters: NDArray[np.intp] | None = None
    effective: NDArray[np.float64] | None = None

    @property
    def counted(self) -> NDArray[np.bool_]:
        """(annotators,) who is tested: clustered, only those with clusters enough to tell anything."""
        if self.effective is None:
            return np.ones(len(self.p), bool)
        return self.effective > FEWEST_CLUSTERS - _NO_DEVIATION


def too_few(units: int, effective: float, kind: str = "clusters") -> str | None:
    """Return why so many units that weigh as much as `effective` of equal size tell nothing; None where they do."""
    if effective > FEWEST_CLUSTERS - _NO_DEVIATION:
        return None
    unequal = f", which weigh as much as {effective:.1f} of equal size," if units - effective > _UNEQUAL else ""
    return f"{units} {kind}{unequal} are too few: it takes {FEWEST_CLUSTERS}"


def _differences(epsilon: float, *, multiplicative: bool) -> tuple[NDArray[np.float64], float]:
    """Return d where the human wins, on a tie and where the candidate wins, and the mean of H0."""
    if multiplicative:
        return np.array([1 - epsilon, -epsilon, -1.0]), 0.0
    return np.array([1.0, 0.0, -1.0]), epsilon


def _counts(tally: Tally) -> NDArray[np.float64]:
    return np.stack([tally.human, tally.tie, tally.candidate], axis=-1).astype(np.float64)


def _constant(
    counts: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return where d is constant, exactly (no standard deviation is compared with 0), and its largest value."""
    present = counts > 0
    highest = np.where(present, values, -np.inf).max(axis=-1)
    lowest = np.where(present, values, np.inf).min(axis=-1)
    return highest == lowest, highest


def _student(
    excess: NDArray[np.float64],
    variance: NDArray[np.float64],
    freedom: NDArray[np.float64],
    constant: NDArray[np.bool_],
    level: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return t and p = P(T <= t); a constant d that is not H0's mean decides by itself, one that is does not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(constant, np.sign(level) * np.inf, excess / np.sqrt(variance))
    t[(freedom < 1) | (constant & (level == 0)) | (~constant & (variance == 0))] = np.nan
    return t, special.stdtr(np.maximum(freedom, 1), t)


def t_test(tally: Tally, epsilon: float, *, multiplicative: bool) -> Tested:
    """Return the one-sample t-test of the paper (Calderon, Reichart, Dror 2025, section 3), alternative "less"."""
    values, expected = _differences(epsilon, multiplicative=multiplicative)
    counts, n = _counts(tally), tally.n.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (counts @ values) / n
        squares = (counts * (values - mean[..., None]) ** 2).sum(axis=-1)
        variance = squares / (n - 1) / n
    constant, value = _constant(counts, values)
    t, p = _student(mean - expected, variance, n - 1, constant, value - expected)
    return Tested(statistic=t, p=p)


def clustered_test(found: Advantage, clusters: NDArray[np.intp], epsilon: float, *, multiplicative: bool) -> Tested:
    """Return the t-test with a cluster-robust variance (CR1), for tested annotators.

    V = G/(G-1) sum_g (sum of d - mean over cluster g)^2 / n^2, with n^2 / sum n_g^2 - 1 degrees of freedom, those of
    the effective number of clusters (G - 1 where they are of one size): with every instance its own cluster it is the
    t-test. Undefined below `FEWEST_CLUSTERS` effective clusters, and where the cluster sums do not vary but d does.
    """
    values, expected = _differences(epsilon, multiplicative=multiplicative)
    width = int(clusters.max(initial=0)) + 1
    group, place = np.unique(found.annotator * width + clusters[found.item], return_inverse=True)
    annotator = group // width
    inside = _counts(Tally.of(found.sign, place.reshape(-1), len(group)))
    counts, n, sizes = _counts(found.tally), found.tally.n.astype(np.float64), inside.sum(axis=1)
    number = np.bincount(annotator, minlength=len(n)).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (counts @ values) / n
        off = inside @ values - sizes * mean[annotator]
        off[np.abs(off) <= _NO_DEVIATION * sizes] = 0
        squares = np.bincount(annotator, weights=off**2, minlength=len(n))
        variance = number / (number - 1) * squares / n**2
        effective = n**2 / np.bincount(annotator, weights=sizes**2, minlength=len(n))
    constant, value = _constant(counts, values)
    t, p = _student(mean - expected, variance, effective - 1, constant, value - expected)
    kept = found.tested
    tested = Tested(statistic=t[kept], p=p[kept], clusters=number[kept].astype(np.intp), effective=effective[kept])
    tested.statistic[~tested.counted] = tested.p[~tested.counted] = np.nan
    return tested


def tango_test(tally: Tally, epsilon: float) -> Tested:
    """Return Tango's score test (1998) of a paired difference of proportions, H0: P(human) - P(candidate) >= epsilon.

    Undefined where there is no spread under H0 and the counts agree with it; certain where they contradict it.
    """
    z = _tango_scores(tally.human, tally.candidate, tally.n, epsilon)
    return Tested(statistic=z, p=special.ndtr(z))


def rejections(p: NDArray[np.float64], q: float) -> NDArray[np.intp]:
    """Return (...,) how many hypotheses Benjamini and Yekutieli (2001, theorem 1.3) reject: the largest k that fits.

    An undefined p is never rejected but counts among the m hypotheses.
    """
    m = p.shape[-1]
    ranked = np.sort(np.where(np.isnan(p), np.inf, p), axis=-1)
    fits = ranked <= np.arange(1, m + 1) * q / (m * harmonic(m))
    largest: NDArray[np.intp] = np.where(fits, np.arange(1, m + 1), 0).max(axis=-1, initial=0)
    return largest


def benjamini_yekutieli(p: NDArray[np.float64], q: float) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return, for p (m,), which hypotheses are rejected (step-up) and adjusted p-values; undefined stays NaN."""
    m = len(p)
    if not m:
        return np.zeros(0, bool), p
    rejected = np.zeros(m, bool)
    rejected[np.argsort(p, kind="stable")[: int(rejections(p, q))]] = True  # NaN last
    return rejected, step_up(p, dependent=True)


_EDGE = 1e-12

Limits: TypeAlias = "tuple[float, float] | None"


@dataclass(frozen=True, kw_only=True)
class WinningRate:
    """Rates over tested annotators, each annotator weighing the same; rho + rho_human = 1 + tie_rate.

    `rho` and `rho_human` are the advantage probabilities of candidate and humans, `decisive_rate` is the candidate's
    share of the comparisons that are no tie (None: all are). `interval` is the 95 % interval of rho; `reason` says why
    there is none.
    """

    rho: float
    rho_human: float
    tie_rate: float
    decisive_rate: float | None
    interval: tuple[float, float] | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class RhoDifference:
    """rho of `first` minus rho of `second` on the instances both answered, with its 95 % paired interval.

    `annotators` counts those with at least `min_instances` of them. `reason` says why there is no interval.
    """

    score: str
    first: str
    second: str
    instances: int
    annotators: int
    rho_first: float | None
    rho_second: float | None
    difference: float | None
    interval: tuple[float, float] | None
    reason: str | None

    def turned(self) -> RhoDifference:
        """Return `second` minus `first`."""
        return replace(
            self,
            first=self.second,
            second=self.first,
            rho_first=self.rho_second,
            rho_second=self.rho_first,
            difference=None if self.difference is None else -self.difference,
            interval=None if self.interval is None else (-self.interval[1], -self.interval[0]),
        )


class _Spread(NamedTuple):
    """The variance of a mean, the number of items or clusters it is from, and how many of equal weight they are."""

    variance: float
    units: int
    effective: float


def _spread(
    parts: NDArray[np.float64], weight: NDArray[np.float64], item: NDArray[np.intp], clusters: NDArray[np.intp] | None
) -> _Spread:
    """Return the spread of a sum of influences (cells,) of cells whose weights sum to 1."""
    unit = item if clusters is None else clusters[item]
    place = np.unique(unit, return_inverse=True)[1].reshape(-1)
    size = int(place.max()) + 1
    sums = np.bincount(place, weights=parts, minlength=size)
    sums[np.abs(sums) * size < _EDGE] = 0  # rounding is no spread
    effective = 1 / float((np.bincount(place, weights=weight, minlength=size) ** 2).sum())
    return _Spread(float(size / max(size - 1, 1) * (sums**2).sum()), size, effective)


def _unit(clusters: NDArray[np.intp] | None) -> str:
    return "items" if clusters is None else "clusters"


def _influence(
    value: NDArray[np.float64], annotator: NDArray[np.intp], n: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return the unweighted mean over annotators of their mean value (cells,), influence and weight of each cell."""
    m = int((n > 0).sum())
    sums = np.bincount(annotator, weights=value, minlength=len(n))
    means = np.divide(sums, n, out=np.zeros(len(n)), where=n > 0)
    weight = 1 / n[annotator] / m
    return float(means.sum() / m), (value - means[annotator]) * weight, weight


def _score_interval(rate: float, found: _Spread) -> tuple[float, float]:
    """Return the Wilson interval at the sample size whose binomial variance is this one, with t for z.

    A Wald interval would have no width at 0 and 1; there the sample size is the effective number of clusters.
    """
    spread = rate * (1 - rate)
    size = spread / found.variance if found.variance > 0 and spread > _EDGE else found.effective
    return clustered_wilson(rate, size, found.effective - 1)


def winning_rate(found: Advantage, clusters: NDArray[np.intp] | None = None) -> WinningRate | None:
    """Return rho and what belongs beside it; None when no annotator is tested."""
    if not len(found.tested):
        return None
    tally: Tally = found.tally.take(found.tested)
    human, tie, candidate = (float((part / tally.n).mean()) for part in (tally.human, tally.tie, tally.candidate))
    cells = found.of_tested()
    n = np.bincount(found.annotator[cells], minlength=len(found.tally.n)).astype(np.float64)
    rho, parts, weight = _influence((found.sign[cells] >= 0).astype(np.float64), found.annotator[cells], n)
    spread = _spread(parts, weight, found.item[cells], clusters)
    few = too_few(spread.units, spread.effective, _unit(clusters))
    return WinningRate(
        rho=rho,
        rho_human=float(((tally.human + tally.tie) / tally.n).mean()),
        tie_rate=tie,
        decisive_rate=candidate / (human + candidate) if human + candidate > 0 else None,
        interval=None if few else _score_interval(rho, spread),
        reason=few,
    )


def rho_difference(
    first: Advantage, second: Advantage, *, min_instances: int, clusters: NDArray[np.intp] | None = None
) -> RhoDifference:
    """Compare two candidates under one score on the comparisons both were part of."""
    width = int(max(first.item.max(initial=0), second.item.max(initial=0))) + 1
    keys = [one.annotator * width + one.item for one in (first, second)]
    _, mine, theirs = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    annotator, item = first.annotator[mine], first.item[mine]
    counts = np.bincount(annotator, minlength=len(first.tally.n))
    cells = (counts >= min_instances)[annotator]
    n = np.where(counts >= min_instances, counts, 0).astype(np.float64)
    wins = [(one.sign[places][cells] >= 0).astype(np.float64) for one, places in ((first, mine), (second, theirs))]
    rates: list[float | None] = [None, None, None]
    interval: Limits = None
    reason: str | None = f"no annotator has {min_instances} instances that both answered"
    if cells.any():
        difference, parts, weight = _influence(wins[0] - wins[1], annotator[cells], n)
        rates = [*(_influence(win, annotator[cells], n)[0] for win in wins), difference]
        interval, reason = _paired(difference, _spread(parts, weight, item[cells], clusters), _unit(clusters))
    return RhoDifference(
        score=first.score,
        first=first.candidate,
        second=second.candidate,
        instances=len(np.unique(item)),
        annotators=int((n > 0).sum()),
        rho_first=rates[0],
        rho_second=rates[1],
        difference=rates[2],
        interval=interval,
        reason=reason,
    )


def _paired(difference: float, found: _Spread, unit: str) -> tuple[Limits, str | None]:
    """Return the t interval of a difference, or why there is none."""
    if few := too_few(found.units, found.effective, unit):
        return None, few
    if not found.variance:
        return None, f"the difference is the same in all {found.units} {unit}"
    low, high = t_interval(difference, math.sqrt(found.variance), found.effective - 1)
    if low <= -1 and high >= 1:
        return None, f"the {found.units} {unit} differ too much to tell anything"
    return (max(-1.0, low), min(1.0, high)), None
