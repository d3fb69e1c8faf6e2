"""An e-process for a rate of yes and no against a bar: of a population, or of a suite cases are drawn from."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaln

from judgeharness_integrations.statistics.counts import log_ways

__all__ = ["log_e_rate", "most_below"]

Floats = NDArray[np.float64]

_ROUNDING = 1e-9
_NEGLIGIBLE = 1e-9


def log_e_rate(hits: ArrayLike, bar: float, *, size: int | None = None, strict: bool = False) -> Floats:
    """Return the logarithm of the evidence that a rate clears a bar, after every case.

    For a population the evidence is the likelihood of the cases so far, averaged over all rates above the bar, over
    their likelihood at the bar: a mixture martingale (Robbins 1970, Annals of Mathematical Statistics 41:1397), here
    of Beta(1, 1) truncated to (bar, 1). For a suite of `size` cases in random order it is the same average over all
    numbers of hits that clear the bar, against the largest one that does not; without replacement, as the
    prior-posterior ratio of Waudby-Smith and Ramdas 2020 (NeurIPS, theorem 2.1), whose prior is uniform here. It is
    infinite from where the cases seen decide it, so that nothing is open once all are in.

    A rate that does not clear the bar brings the evidence to 1/a at any time with a probability of at most a.

    Args:
        hits: 0 or 1, cases in the order they are looked at along the last axis.
        bar: the rate to clear, from 0 to 1.
        size: cases of the suite, at least as many as are given; None for a population.
        strict: whether a rate equal to the bar does not clear it.

    Returns:
        Natural logarithms, of the shape of `hits`.

    """
    seen = np.asarray(hits, dtype=np.float64)
    rose = np.cumsum(seen, axis=-1)
    fell = np.arange(1, seen.shape[-1] + 1) - rose
    if size is not None:
        return _of_suite(seen, rose, fell, most_below(bar, size, strict=strict), size)
    if bar <= 0:
        return np.where(rose > 0, np.inf, 0.0) if strict else np.full(seen.shape, np.inf)
    if bar >= 1:
        return np.full(seen.shape, -np.inf)
    with np.errstate(divide="ignore"):
        above = np.log(betainc(fell + 1, rose + 1, 1 - bar))
    found: Floats = betaln(rose + 1, fell + 1) + above - np.log1p(-bar) - rose * np.log(bar) - fell * np.log1p(-bar)
    return found


def most_below(bar: float, size: int, *, strict: bool = False) -> int:
    """Return the largest number of hits among `size` cases whose rate does not clear the bar; -1 where each does."""
    product = bar * size
    return int(np.floor(product + _ROUNDING)) if strict else int(np.ceil(product - _ROUNDING)) - 1


def _of_suite(seen: Floats, rose: Floats, fell: Floats, most: int, size: int) -> Floats:
    """Return the evidence against `most` hits in a suite.

    The sum of C(K, rose) C(size - K, fell) over K > most is C(size + 1, n + 1) times a hypergeometric probability:
    that at most `rose` of n + 1 places drawn from 0 ... size are among the first most + 1. That is followed from case
    to case, which costs one term each. Where it is so small that rounding decides, the evidence is none: it is above
    1 only where that probability is larger than among no cases yet.
    """
    if most < 0:
        return np.full(seen.shape, np.inf)
    if most >= size:
        return np.full(seen.shape, -np.inf)
    n = rose + fell
    above = (size - most) / (size + 1) + np.cumsum(_steps(seen, rose, fell, most, size), axis=-1)
    open_ = (rose <= most) & (fell < size - most)
    with np.errstate(divide="ignore"):
        tail = np.log(np.where(above > _NEGLIGIBLE, above, 0.0))
    rest = log_ways(size + 1, n + 1) - np.log(size - most)
    here = log_ways(np.where(open_, most, size), np.where(open_, rose, 0))
    here = here + log_ways(np.where(open_, size - most, size), np.where(open_, fell, 0))
    return np.where(open_, rest + tail - here, np.where(rose > most, np.inf, -np.inf))


def _steps(seen: Floats, rose: Floats, fell: Floats, most: int, size: int) -> Floats:
    """Return by how much each case changes the probability above."""
    hit = seen > 0
    rose, fell = rose - hit, fell - ~hit  # before the case
    n = rose + fell
    place = np.where(hit, rose + 1, rose)
    possible = (place <= most + 1) & (n + 1 - place <= size - most)
    place, other = np.where(possible, place, 0), np.where(possible, n + 1 - place, 0)
    chance = np.exp(log_ways(most + 1, place) + log_ways(size - most, other) - log_ways(size + 1, n + 1))
    moved = np.where(hit, size - most - fell, -(most + 1 - rose)) / np.maximum(size - n, 1)
    return np.where(possible, chance * moved, 0.0)
