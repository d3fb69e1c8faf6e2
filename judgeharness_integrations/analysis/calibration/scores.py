"""Decided scores against gold scores: errors, rank correlations and quadratic kappa, and why one is missing."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..statistics.means import Estimate, estimate
from .rates import score_errors

_Floats: TypeAlias = NDArray[np.float64]
_UNIT_REACH = 2.0  # scores from 0 to 1 against scores beyond this are no common scale


def quadratic_kappa(
    golds: _Floats, decided: _Floats, clusters: Sequence[Hashable], *, confidence: float = 0.95
) -> Estimate | None:
    """Return the quadratically weighted kappa of scores; None where both sides are one and the same number.

    1 - mean squared difference / the one expected of independent columns with these means and variances (Cohen 1968).
    On whole scores it is the kappa of the table with weights (i - j)^2; scores between them need no rounding. The
    interval is made on Fisher's scale from the linearised standard error, times that of n - 3 for n - 1 (as for Lin's
    1989 concordance coefficient, which it equals).

    Args:
        golds: scores, one an item.
        decided: the other scores of the same items.
        clusters: which cluster each item is in.
        confidence: of the interval.

    """
    if not len(golds):
        return None
    x, y = golds - golds.mean(), decided - decided.mean()
    shift = float(decided.mean() - golds.mean())
    squared = (decided - golds) ** 2
    expected = float((x * x).mean() + (y * y).mean()) + shift * shift
    if expected <= 0:
        return None
    value = 1 - float(squared.mean()) / expected
    moved = x * x + y * y + shift * shift + 2 * shift * (y - x) - expected
    influence = -(squared - squared.mean()) / expected + (1 - value) * moved / expected
    count = len(set(clusters))
    wider = math.sqrt((count - 1) / (count - 3)) if count > 3 else 1.0  # noqa: PLR2004 - Fisher's n - 3
    return estimate(value, (wider * influence).tolist(), clusters, fisher=True, confidence=confidence)


def other_scale(golds: _Floats, decided: _Floats, scale: tuple[float, float] | None) -> str | None:
    """Return why two columns of scores are not on one scale, None when nothing speaks against it.

    With a declared `scale`, scores outside it; without one, ranges that do not meet, or 0 to 1 against more.
    """
    ranges = [(float(side.min()), float(side.max())) for side in (golds, decided)]
    (low, high), (lowest, highest) = ranges
    texts = f"gold scores lie in {low:g} to {high:g}, decisions in {lowest:g} to {highest:g}"
    if scale is not None:
        outside = min(low, lowest) < scale[0] or max(high, highest) > scale[1]
        return f"{texts}, beyond the declared scale of {scale[0]:g} to {scale[1]:g}" if outside else None
    apart = (high < lowest or highest < low) and low < high and lowest < highest
    units = [least >= 0 and most <= 1 for least, most in ranges]
    if apart or (units[0] != units[1] and max(high, highest) > _UNIT_REACH):
        return f"{texts}: no common scale"
    return None


_CELLS = 2**22  # of a table of signs held at once


def spearman(
    first: _Floats, second: _Floats, clusters: Sequence[Hashable], *, confidence: float = 0.95
) -> Estimate | None:
    """Return Spearman's rank correlation of two columns of scores; None where one of them never varies.

    Pearson's correlation of mid-ranks. The interval is made on Fisher's scale from the linearised standard error, which
    knows that ranks depend on the other items (Borkowf 2002).

    Args:
        first: scores, one an item.
        second: the other scores of the same items.
        clusters: which cluster each item is in.
        confidence: of the interval.

    """
    if _constant(first) or _constant(second):
        return None
    x, y = _mid_shares(first), _mid_shares(second)
    product, spread_x, spread_y = (float(np.mean(part)) for part in (x * y, x * x, y * y))
    variance_x, variance_y = spread_x - 0.25, spread_y - 0.25  # mid-shares have the mean 1/2 by construction
    scale = float(np.sqrt(variance_x * variance_y))
    value = (product - 0.25) / scale
    # what an item adds by itself, and by raising the shares of all items above it
    moved = x * y + _above(first, y) + _above(second, x) - 3 * product
    moved_x = x * x + 2 * _above(first, x) - 3 * spread_x
    moved_y = y * y + 2 * _above(second, y) - 3 * spread_y
    influence = moved / scale - value / 2 * (moved_x / variance_x + moved_y / variance_y)
    return estimate(_bounded(value), influence.tolist(), clusters, fisher=True, confidence=confidence)


def kendall_tau_b(
    first: _Floats, second: _Floats, clusters: Sequence[Hashable], *, confidence: float = 0.95
) -> Estimate | None:
    """Return Kendall's tau-b of two columns of scores; None where one of them never varies.

    tau-b = sum of sign products over pairs / sqrt(untied pairs of one * untied pairs of the other) (Kendall 1945). The
    interval is made on Fisher's scale from the linearised standard error of the three sums over pairs.

    Args:
        first: scores, one an item.
        second: the other scores of the same items.
        clusters: which cluster each item is in.
        confidence: of the interval.

    """
    if _constant(first) or _constant(second):
        return None
    n = len(first)
    rows = np.zeros((3, n))
    step = max(1, _CELLS // n)
    for start in range(0, n, step):
        part = slice(start, start + step)
        x, y = (np.sign(side[part, None] - side[None, :]) for side in (first, second))
        rows[:, part] = (x * y).sum(1), np.abs(x).sum(1), np.abs(y).sum(1)
    rows /= n - 1
    both, untied_x, untied_y = rows.mean(1)
    scale = np.sqrt(untied_x * untied_y)
    value = both / scale
    moved = 2 * (rows - rows.mean(1, keepdims=True))
    influence = moved[0] / scale - value / 2 * (moved[1] / untied_x + moved[2] / untied_y)
    return estimate(_bounded(float(value)), influence.tolist(), clusters, fisher=True, confidence=confidence)


def _constant(scores: _Floats) -> bool:
    return len(scores) == 0 or bool(scores.min() == scores.max())


def _bounded(value: float) -> float:
    """Return a correlation without the rounding error that could carry it beyond 1."""
    return 1.0 if value > 1 - 1e-12 else -1.0 if value < -1 + 1e-12 else value


def _mid_shares(scores: _Floats) -> _Floats:
    """Return each item's share of lower scores, plus half of those equal to it."""
    ordered = np.sort(scores)
    below, upto = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
    shares: _Floats = (below + upto) / (2 * len(scores))
    return shares


def _above(scores: _Floats, weights: _Floats) -> _Floats:
    """Return, per item, the mean weight of the items with higher scores, those equal to it counted half."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    upto = np.concatenate(([0.0], np.cumsum(weights[order])))
    left, right = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
    sums: _Floats = (upto[-1] - (upto[left] + upto[right]) / 2) / len(scores)
    return sums


_ONE_NUMBER = "every score is the same number"


def score_measures(
    pairs: Sequence[tuple[float, float]],
    clusters: Sequence[Hashable],
    *,
    scale: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """Return what a calibration says of (gold, decided) scores, as fields of `CriterionCalibration`.

    Args:
        pairs: scores of the decided items.
        clusters: which cluster each of them is in.
        scale: lowest and highest score, where the judge declares them.
        confidence: of the intervals.

    """
    measures: dict[str, Any] = {"errors": score_errors(pairs, clusters, confidence=confidence)}
    if not pairs:
        return measures
    golds, decided = np.array(pairs, dtype=float).T
    constant = [name for name, side in (("gold", golds), ("decided", decided)) if side.min() == side.max()]
    undefined: dict[str, str] = {}
    for name, correlation in (("spearman", spearman), ("kendall", kendall_tau_b)):
        measures[name] = correlation(golds, decided, clusters, confidence=confidence)
        if constant:
            undefined[name] = f"the {constant[0]} scores never vary"
    why = other_scale(golds, decided, scale)
    kappa = None if why else quadratic_kappa(golds, decided, clusters, confidence=confidence)
    measures["quadratic_kappa"] = kappa
    if kappa is None:
        undefined["quadratic_kappa"] = why or _ONE_NUMBER
    return measures | {"undefined": undefined}
