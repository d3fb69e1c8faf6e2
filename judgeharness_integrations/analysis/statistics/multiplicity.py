"""Several tests in one report: p-values and levels adjusted so that the whole report keeps its promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["bonferroni_level", "harmonic", "holm", "sidak_confidence", "step_up"]


def holm(p_values: Sequence[float], weights: Sequence[float] | None = None) -> list[float]:
    """Return p-values adjusted by Holm (1979, Scand J Statist 6:65), in the order they came in.

    Rejecting those at or below alpha rejects any true hypothesis with a chance of at most alpha, however the tests
    depend on one another. With weights (section 4) tests are taken in the order of p / weight; each is multiplied by
    the weights that are left over its own, and no adjusted value is below an earlier one.

    Args:
        p_values: one a test.
        weights: what share of the level each test gets, in any unit, all above 0; None: all the same.

    """
    weights = [1] * len(p_values) if weights is None else weights
    order = sorted(range(len(p_values)), key=lambda place: p_values[place] / weights[place])
    adjusted, running, left = [1.0] * len(p_values), 0.0, sum(weights)
    for place in order:
        running = max(running, p_values[place] / weights[place] * left)
        adjusted[place] = min(1.0, running)
        left -= weights[place]
    return adjusted


def bonferroni_level(alpha: float, tests: int) -> float:
    """Return the level of each of several tests of which any rejects in at most `alpha` of studies: alpha / k."""
    return alpha / tests


def sidak_confidence(confidence: float, intervals: int) -> float:
    """Return the confidence of each of several intervals that hold together: confidence^(1/k) (Sidak 1967)."""
    return float(confidence ** (1 / intervals))


def harmonic(m: int) -> float:
    """Return 1 + 1/2 + ... + 1/m, what Benjamini and Yekutieli divide the level by."""
    import numpy as np  # noqa: PLC0415 - what adjusts a few p-values needs it not

    return float((1 / np.arange(1, m + 1)).sum())


def step_up(p: NDArray[np.float64], *, dependent: bool = False) -> NDArray[np.float64]:
    """Return p-values (tests,) adjusted for the false discovery rate; those at most q are the rejections at q.

    By Benjamini and Hochberg 1995 (J R Statist Soc B 57:289), or, however the tests depend on one another, by Benjamini
    and Yekutieli 2001 (Ann Statist 29:1165, theorem 1.3).

    Args:
        p: NaN where it is undefined, which stays NaN; independent tests count the others alone, dependent ones all.
        dependent: by Benjamini and Yekutieli.

    """
    import numpy as np  # noqa: PLC0415 - what adjusts a few p-values needs it not

    adjusted = np.full(len(p), np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    m = len(p) if dependent else len(order)
    scaled = p[order] * m * (harmonic(m) if dependent else 1.0) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted
