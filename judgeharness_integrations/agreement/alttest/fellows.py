"""How each annotator stands among fellow annotators, without any candidate, and who stands apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from judgeharness_integrations.agreement.alttest.ballots import Ballots
from judgeharness_integrations.statistics.agreement import chance_corrected

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Fellow", "fellows"]

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
