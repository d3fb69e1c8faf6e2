"""Rank correlations of gold and decided scores, ties included, with intervals clustered by case."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.statistics.means import Estimate, estimate

__all__ = ["kendall_tau_b", "spearman"]

_Floats: TypeAlias = NDArray[np.float64]
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
