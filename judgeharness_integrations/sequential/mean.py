"""An e-process for a mean between 0 and 1 against a bar, by betting: scores, shares, and clusters of cases."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

__all__ = ["STAKES", "log_e_mean"]

Floats = NDArray[np.float64]

STAKES: Final[tuple[float, ...]] = tuple(np.geomspace(0.01, 0.99, 24).tolist())
_ROUNDING: Final = 1e-9


def log_e_mean(
    totals: ArrayLike,
    weights: ArrayLike,
    bar: float,
    *,
    most: float = 1.0,
    size: int | None = None,
    strict: bool = False,
    path: bool = True,
) -> Floats:
    """Return the logarithm of the evidence that a weighted mean clears a bar, after every unit.

    A unit is a case, or a cluster of them: what its cases come to (`totals`, between 0 and its weight) and how many
    they are (`weights`). The mean is the sum of all totals over that of all weights, so that every case counts the
    same. Each unit is a bet on total - bar x weight, which in the mean is no gain where the bar is not cleared; the
    capital is that of a gambler who divides it among fixed stakes, parts of the largest that cannot ruin (Waudby-Smith
    and Ramdas 2024, JRSS B 86:1, section 4.4, "diversified Kelly betting"), and does not depend on the order of the
    units. With `size` units in all, drawn in random order, each is bet against the mean of those left, given those
    drawn (their section 5, eq. 34), and the evidence is infinite from where those left could no longer change it.

    A mean that does not clear the bar brings the evidence to 1/a at any time with a probability of at most a.

    Args:
        totals: units in the order they are looked at along the last axis.
        weights: of the same shape, or one number.
        bar: the mean to clear, from 0 to 1.
        most: the largest weight a unit can have.
        size: units of the suite; None for a population.
        strict: whether a mean equal to the bar does not clear it.
        path: False for the last value alone.

    Returns:
        Natural logarithms: of the shape of `totals`, without its last axis where `path` is False.

    """
    gained = np.asarray(totals, dtype=np.float64)
    gains, worst = gained - bar * np.asarray(weights, dtype=np.float64), bar * most
    if bar <= 0:
        found = np.where(np.cumsum(gained, axis=-1) > 0, np.inf, 0.0) if strict else np.full(gains.shape, np.inf)
        return found if path else found[..., -1]
    if size is None:
        bets = np.log1p(np.multiply.outer(STAKES, gains / worst))
        capital = np.cumsum(bets, axis=-1) if path else bets.sum(axis=-1)
        return _together(capital)
    found = _without_replacement(gains, worst, size, strict=strict)
    return found if path else found[..., -1]


def _without_replacement(gains: Floats, worst: float, size: int, *, strict: bool) -> Floats:
    so_far = np.cumsum(gains, axis=-1)
    left = size - np.arange(gains.shape[-1])  # before each unit, itself among them
    expected = -(so_far - gains) / left  # the most the mean of those left may be where the bar is not cleared
    room = worst + expected
    possible = room > _ROUNDING * worst
    moves = np.where(possible, (gains - expected) / np.where(possible, room, 1.0), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        capital = np.cumsum(np.log1p(np.maximum(np.multiply.outer(STAKES, moves), -1.0)), axis=-1)
    least, slack = so_far - worst * (left - 1), _ROUNDING * worst * size
    decided = np.maximum.accumulate(least > slack if strict else least >= -slack, axis=-1)
    return np.where(decided, np.inf, _together(capital))


def _together(capital: Floats) -> Floats:
    found: Floats = logsumexp(capital, axis=0) - np.log(len(STAKES))
    return found
