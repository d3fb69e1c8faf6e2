"""Anytime-valid inference: evidence that may be looked at after every case, as often as one likes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaln, logsumexp

from .statistics.paired import bisected, last, log_ways

__all__ = [
    "drift_evidence",
    "log_e_mean",
    "log_e_rate",
    "log_e_shift",
    "log_e_signs",
    "mean_interval",
    "move_evidence",
    "rate_interval",
    "wrong_evidence",
]

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


STAKES: Final[tuple[float, ...]] = tuple(np.geomspace(0.01, 0.99, 24).tolist())
_MEAN_ROUNDING: Final = 1e-9


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
    possible = room > _MEAN_ROUNDING * worst
    moves = np.where(possible, (gains - expected) / np.where(possible, room, 1.0), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        capital = np.cumsum(np.log1p(np.maximum(np.multiply.outer(STAKES, moves), -1.0)), axis=-1)
    least, slack = so_far - worst * (left - 1), _MEAN_ROUNDING * worst * size
    decided = np.maximum.accumulate(least > slack if strict else least >= -slack, axis=-1)
    return np.where(decided, np.inf, _together(capital))


def _together(capital: Floats) -> Floats:
    found: Floats = logsumexp(capital, axis=0) - np.log(len(STAKES))
    return found


def log_e_signs(rose: ArrayLike, fell: ArrayLike) -> Floats:
    """Return the logarithm of the evidence that rises and falls are not equally likely.

    The likelihood of the discordant pairs, averaged over their chance of a rise with Jeffreys' Beta(1/2, 1/2), over
    that of a fair coin: two-sided, and free of the order of the pairs (Robbins 1970, Annals of Mathematical Statistics
    41:1397). It reaches 1/a at any time with a probability of at most a where the coin is fair.

    Args:
        rose: how many pairs rose so far; of any shape.
        fell: how many fell, of the same shape.

    """
    rose, fell = np.asarray(rose, dtype=np.float64), np.asarray(fell, dtype=np.float64)
    found: Floats = betaln(rose + 0.5, fell + 0.5) - betaln(0.5, 0.5) + (rose + fell) * math.log(2)
    return found


def log_e_shift(changes: ArrayLike, most: float) -> Floats:
    """Return the logarithm of the evidence that changes are not 0 in the mean: half of it bets on either direction.

    Args:
        changes: one a unit, between -`most` and `most`, units along the last axis; a cluster's change is the sum of
            those of its cases.
        most: the largest change possible, above 0.

    Returns:
        The evidence of all units, without the last axis; see `log_e_mean`.

    """
    shares = (np.asarray(changes, dtype=np.float64) / most + 1) / 2
    up, down = (log_e_mean(part, 1.0, 0.5, path=False) for part in (shares, 1 - shares))
    found: Floats = np.logaddexp(up, down) - math.log(2)
    return found


TILTS: Final[tuple[float, ...]] = (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)
_LARGEST: Final = 700.0  # of logarithms
_USUAL: Final = 0.75  # of its days, beyond which an answer is strange
_DIGITS: Final = 9  # of a probability, below which a difference is one of floating point


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


def move_evidence(answers: ArrayLike) -> Floats:
    """Return the evidence that answers left the band in which they vary, after every day but the first.

    A case is strange on a day on which its answer lies further from the median of all its days so far than on three
    quarters of them, whichever way it went. Where nothing has changed, the days of a case are exchangeable, whatever
    the noise, and each is one of the strange ones with the same chance: bets and promise are those of `wrong_evidence`.
    Without ties the strange days of a case are independent (Vovk 2002, On-line confidence machines are well-calibrated,
    FOCS), and the evidence is a martingale: it reaches 20 in 5 % of judges at most, however long they are watched.
    With ties, of rounded answers and of repeats to the digit, that is simulated (1 to 4 % of years of daily looks). A
    judge that repeats itself to the digit bets nothing; its third day is the first that tells a change from noise.

    Args:
        answers: of shape (days, cases, options), all repeats of the first day being days of their own; not a number
            where a case was not asked.

    """
    found = np.asarray(answers, dtype=np.float64)
    strange, shares = np.zeros(found.shape[:2]), np.zeros(found.shape[:2])
    for day in range(2, len(found)):
        so_far = found[: day + 1]
        apart = np.abs(so_far - _middle(so_far)).sum(axis=-1)
        strange[day], shares[day] = _today(np.round(apart, _DIGITS), part=_USUAL)
    return _bet(strange[1:], shares[1:])


def _middle(values: Floats) -> Floats:
    """Return the median over the days, 0 of cases that were never asked."""
    asked = ~np.isnan(values)
    count = asked.sum(axis=0)
    ordered = np.sort(np.where(asked, values, np.inf), axis=0)
    ends = [np.take_along_axis(ordered, np.maximum(place, 0)[None], axis=0) for place in ((count - 1) // 2, count // 2)]
    middle: Floats = np.where(count > 0, (ends[0] + ends[1])[0] / 2, 0.0)
    return middle


def _today(values: Floats, *, part: float = 0.5) -> tuple[Floats, Floats]:
    """Return whether each case is worse today than on a part of its days, and on what share of its days it was."""
    asked = ~np.isnan(values)
    days = asked.sum(axis=0)
    ordered = np.sort(np.where(asked, values, np.inf), axis=0)
    place = np.maximum(np.ceil(part * days - _ROUNDING).astype(np.intp) - 1, 0)
    middle = np.take_along_axis(ordered, place[None, :], axis=0)
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


def unequal_clusters(clusters: Iterable[Hashable]) -> str:
    """Return why clusters are no evidence about a population one by one; empty where all hold equally many cases.

    A bet needs a bound of what a cluster can weigh, and the largest one so far is none: a larger one that is still to
    come outweighs all before. Of a suite every cluster is known beforehand.

    Args:
        clusters: which cluster each case is in, itself alone or with others.

    """
    sizes = Counter(clusters).values()
    if len(set(sizes)) <= 1:
        return ""
    sized = f"from {min(sizes)} to {max(sizes)} cases"
    return f"clusters hold {sized}, and how large one of the population can be is not known"


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
