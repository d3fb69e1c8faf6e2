"""Quadratic kappa of gold and decided scores: agreement on the scale itself, not only in rank."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.statistics.means import Estimate, estimate

__all__ = ["other_scale", "quadratic_kappa"]

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
