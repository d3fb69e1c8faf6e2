"""The average winning rate rho of a candidate: its value, its interval, and what lies between two candidates.

rho = unweighted mean over tested annotators of mean(W_f). Its variance is linearised over items (or clusters), since
the comparisons of all annotators on one item share the candidate's answer and most of R. Degrees of freedom are those
of the effective number of items (clusters): (sum of weights)^2 / sum of squared weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from judgeharness_integrations.agreement.alttest.advantage import Advantage, Tally
from judgeharness_integrations.agreement.alttest.hypothesis import too_few
from judgeharness_integrations.statistics.means import t_interval
from judgeharness_integrations.statistics.tally import clustered_wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RhoDifference", "WinningRate", "rho_difference", "winning_rate"]

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
