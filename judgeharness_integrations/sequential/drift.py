"""An e-process for drift: the same cases decided day after day, today bet against all days so far."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["TILTS", "drift_evidence", "wrong_evidence"]

Floats = NDArray[np.float64]

TILTS: Final[tuple[float, ...]] = (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)
_LARGEST: Final = 700.0  # of logarithms


def drift_evidence(values: ArrayLike) -> Floats:
    """Return the evidence of change after every day but the first, the baseline.

    Args:
        values: how bad each case was each day, of shape (days, cases): 0 or 1 for right and wrong, a distance from gold
            for scores, infinity for no score at all; not a number where a case was not asked.

    Returns:
        One number a day after the first, 1 where nothing is known; see `wrong_evidence` for what it promises. A case
        counts as worse on days above the median of all its days so far, so that scores are bet on as labels are.

    """
    found = np.asarray(values, dtype=np.float64)
    worse, shares = np.zeros(found[1:].shape), np.zeros(found[1:].shape)
    for day in range(1, len(found)):
        worse[day - 1], shares[day - 1] = _today(found[: day + 1])
    return _bet(worse, shares)


def wrong_evidence(wrong: ArrayLike) -> Floats:
    """Return the evidence that cases are wrong more, or less, often than they were, after every day but the first.

    Where a judge has not changed, the days of a case are exchangeable, baseline included: given on how many of them it
    was wrong, each day is one of these with the same chance, whatever the judge's noise. Every day is bet against that
    chance with a likelihood ratio of fixed log odds (`TILTS`, both directions), and the capital is divided among bets
    that begin on different days (1 / (day (day + 1)) of it, as change may come late); from the second day on only
    exp(-|tilt|) of that is bet, as the first surprise after quiet days costs a bet nothing before. On a day fixed
    beforehand the evidence is 1 in the mean, exactly, where cases err independently within a day (days on which many go
    wrong together count as a change); that 20 is reached on any day of a year in at most 5 % of
    studies is simulated (0.8 to 3.2 %: 1 to 50 cases, noise from .1 to 50 %), not proved. Multiplying each day's
    discordant pairs with the stored baseline would count the luck of that day again and again (33 to 41 % in a month).
    Compare Vovk 2021 (Statistical Science 36:595) for bets on exchangeability that randomise instead.

    Cases that never change are no bet: asking a deterministic judge about the same cases again adds nothing.

    Args:
        wrong: 0 or 1, of shape (..., days, cases).

    """
    found = np.asarray(wrong, dtype=np.float64)
    days = np.arange(1, found.shape[-2] + 1, dtype=np.float64)[:, None]
    return _bet(found[..., 1:, :], (np.cumsum(found, axis=-2) / days)[..., 1:, :])


def _today(values: Floats) -> tuple[Floats, Floats]:
    """Return whether each case is worse today than on its median day, and on what share of its days it was."""
    asked = ~np.isnan(values)
    days = asked.sum(axis=0)
    ordered = np.sort(np.where(asked, values, np.inf), axis=0)
    middle = np.take_along_axis(ordered, np.maximum(days - 1, 0)[None, :] // 2, axis=0)
    with np.errstate(invalid="ignore"):
        above, from_ = asked & (values > middle), asked & (values >= middle)
    worse = np.where(above.any(axis=0), above, from_)
    share = worse.sum(axis=0) / np.maximum(days, 1)
    today = asked[-1] & (days > 1)
    return np.where(today, worse[-1], 0.0), np.where(today, share, 0.0)


def _bet(worse: Floats, shares: Floats) -> Floats:
    """Return the capital after every day: `worse` of shape (..., days, cases), `shares` the chance given the bag."""
    gains = [
        tilt * worse.sum(axis=-1) - np.log1p(shares * np.expm1(tilt)).sum(axis=-1) for tilt in TILTS
    ]  # a case that was always the same has a share of 0 or 1, and gains nothing
    stakes = np.zeros((*worse.shape[:-2], len(TILTS)))
    capital, kept = np.ones(worse.shape[:-1]), 1.0
    for day in range(worse.shape[-2]):
        begun = (np.exp(-np.abs(TILTS)) if day else np.ones(len(TILTS))) / ((day + 1) * (day + 2))
        kept -= float(begun.mean())
        today = np.stack([gain[..., day] for gain in gains], axis=-1)
        stakes = (stakes + begun) * np.exp(np.clip(today, -_LARGEST, _LARGEST))
        capital[..., day] = stakes.mean(axis=-1) + kept
    return capital
