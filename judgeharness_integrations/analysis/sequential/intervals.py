"""Confidence sequences: intervals that hold at every look at once, made of the bars no evidence has refuted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgeharness_integrations.analysis.sequential.processes import log_e_mean, log_e_rate
from judgeharness_integrations.analysis.statistics.search import bisected, last

Floats = NDArray[np.float64]

_STEPS: Final = 24


def rate_interval(hits: ArrayLike, *, alpha: float = 0.05, size: int | None = None) -> tuple[float, float]:
    """Return the confidence sequence of a rate at the last of the cases.

    All bars whose evidence `log_e_rate` there is below 2 / alpha on both sides: the rate lies inside at every look at
    once with a probability of at least 1 - alpha. The order of the cases does not matter.

    Args:
        hits: 0 or 1, one a case; at least one.
        alpha: how often it may ever miss, both ends together.
        size: cases of the suite the rate is of; None for a population.

    """
    seen = np.asarray(hits, dtype=np.float64)
    needed = math.log(2 / alpha)

    def refuted(values: Floats, bar: float) -> bool:
        return bool(log_e_rate(values, bar, size=size)[-1] >= needed)

    return _last(lambda bar: refuted(seen, bar), size), 1 - _last(lambda bar: refuted(1 - seen, bar), size)


def mean_interval(
    totals: ArrayLike, weights: ArrayLike, *, most: float = 1.0, alpha: float = 0.05, size: int | None = None
) -> tuple[float, float]:
    """Return the confidence sequence of a mean between 0 and 1; see `log_e_mean` and `rate_interval`."""
    gained = np.asarray(totals, dtype=np.float64)
    held = np.broadcast_to(np.asarray(weights, dtype=np.float64), gained.shape)
    needed = math.log(2 / alpha)

    def refuted(values: Floats, bar: float) -> bool:
        return bool(log_e_mean(values, held, bar, most=most, size=size, path=False) >= needed)

    low = _last(lambda bar: refuted(gained, bar), None)
    high = 1 - _last(lambda bar: refuted(held - gained, bar), None)
    return low, max(low, high)


def _last(refuted: Callable[[float], bool], size: int | None) -> float:
    """Return the largest bar that is refuted, or that must be cleared: evidence against a bar falls as it rises.

    In a suite of `size` cases a rate is one of size + 1.
    """
    if size is not None:
        return last(lambda hits: refuted(hits / size), 0, size + 1) / size  # clearing 0 of them is no claim
    return bisected(refuted, 0.0, 1.0, steps=_STEPS)[0]
