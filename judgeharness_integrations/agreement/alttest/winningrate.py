"""The average winning rate rho of a candidate: its value, its interval, and what lies between two candidates.

rho = unweighted mean over tested annotators of mean(W_f). Its variance is linearised over items (or clusters), since
the comparisons of all annotators on one item share the candidate's answer and most of R.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from judgeharness_integrations.agreement.alttest.advantage import Advantage, Tally

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RhoDifference", "WinningRate", "rho_difference", "winning_rate"]

_LEAST = 2  # clusters a variance needs
_EDGE = 1e-12


@dataclass(frozen=True, kw_only=True)
class WinningRate:
    """Rates over tested annotators, each annotator weighing the same; rho + rho_human = 1 + tie_rate.

    `rho` and `rho_human` are the advantage probabilities of candidate and humans, `decisive_rate` is the candidate's
    share of the comparisons that are no tie (None: all are). `interval` is the 95 % interval of rho.
    """

    rho: float
    rho_human: float
    tie_rate: float
    decisive_rate: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True, kw_only=True)
class RhoDifference:
    """rho of `first` minus rho of `second` on the instances both answered, with its 95 % paired interval.

    `annotators` counts those with at least `min_instances` of them.
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


def _variance(
    parts: NDArray[np.float64], item: NDArray[np.intp], clusters: NDArray[np.intp] | None
) -> tuple[float, int]:
    """Return the variance of a sum of influences (cells,), and of how many clusters it is made."""
    unit = item if clusters is None else clusters[item]
    place = np.unique(unit, return_inverse=True)[1].reshape(-1)
    size = int(place.max(initial=-1)) + 1
    sums = np.bincount(place, weights=parts, minlength=size)
    return (float(size / (size - 1) * (sums**2).sum()) if size >= _LEAST else math.nan), size


def _influence(
    value: NDArray[np.float64], annotator: NDArray[np.intp], n: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the unweighted mean over annotators of their mean value (cells,), and the influence of each cell."""
    m = int((n > 0).sum())
    sums = np.bincount(annotator, weights=value, minlength=len(n))
    means = np.divide(sums, n, out=np.zeros(len(n)), where=n > 0)
    return float(means.sum() / m), (value - means[annotator]) / n[annotator] / m


def _score_interval(rate: float, variance: float, units: int) -> tuple[float, float] | None:
    """Return the Wilson interval at the sample size whose binomial variance is this one, with t for z.

    A Wald interval would have no width at 0 and 1; there the sample size is the number of clusters.
    """
    if units < _LEAST:
        return None
    spread = rate * (1 - rate)
    size = spread / variance if variance > 0 and spread > _EDGE else float(units)
    z = float(special.stdtrit(units - 1, 0.975))
    centre, scale = rate + z * z / (2 * size), 1 + z * z / size
    half = z * math.sqrt(spread / size + z * z / (4 * size * size))
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def winning_rate(found: Advantage, clusters: NDArray[np.intp] | None = None) -> WinningRate | None:
    """Return rho and what belongs beside it; None when no annotator is tested."""
    if not len(found.tested):
        return None
    tally: Tally = found.tally.take(found.tested)
    human, tie, candidate = (float((part / tally.n).mean()) for part in (tally.human, tally.tie, tally.candidate))
    cells = found.of_tested()
    n = np.bincount(found.annotator[cells], minlength=len(found.tally.n)).astype(np.float64)
    rho, parts = _influence((found.sign[cells] >= 0).astype(np.float64), found.annotator[cells], n)
    variance, units = _variance(parts, found.item[cells], clusters)
    return WinningRate(
        rho=rho,
        rho_human=float(((tally.human + tally.tie) / tally.n).mean()),
        tie_rate=tie,
        decisive_rate=candidate / (human + candidate) if human + candidate > 0 else None,
        interval=_score_interval(rho, variance, units),
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
    interval = None
    if cells.any():
        difference, parts = _influence(wins[0] - wins[1], annotator[cells], n)
        rates = [*(_influence(win, annotator[cells], n)[0] for win in wins), difference]
        variance, units = _variance(parts, item[cells], clusters)
        if units >= _LEAST and variance > 0:
            half = float(special.stdtrit(units - 1, 0.975)) * math.sqrt(variance)
            interval = (max(-1.0, difference - half), min(1.0, difference + half))
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
    )
