"""What can be known without labels: the retest band, changes beyond it, and the bound of two forms of one question."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.probability.distributions import distance
from judgeharness_integrations.analysis.statistics.means import Estimate, estimate
from judgeharness_integrations.analysis.statistics.proportions import unchanged_bound
from judgeharness_integrations.analysis.statistics.tally import share_estimate

Answer: TypeAlias = Mapping[str, float]
_SAME: Final = 1e-9


@dataclass(frozen=True, kw_only=True)
class RetestBand:
    """How far answers move when the very same is asked again, over `n` cases: the null of every other difference.

    `change` is the mean total variation distance of two repeats (of two options |p - q|), `largest` the largest one,
    `identical` the share of pairs of repeats that are the same; each case counts once.
    """

    n: int
    change: Estimate
    identical: Estimate
    largest: float


@dataclass(frozen=True, kw_only=True)
class AnswerChange:
    """How far `n` answers move between two forms of a question, or under a perturbation, beyond the retest band.

    `change` is the mean total variation distance, `excess` that less the band's, None where nothing was asked twice.
    `share_changed` are those that moved at all.
    """

    n: int
    change: Estimate
    share_changed: Estimate
    band: RetestBand | None
    excess: Estimate | None

    @property
    def bound(self) -> Estimate | None:
        """A lower bound of the larger mean distance to the truth that the two forms have, noise left out.

        The distance of two answers is at most the sum of their distances to the truth (triangle inequality), so that of
        two forms one is off by half their distance at least. With confidence 97.5 % it is off by `low`, which is above
        0 only where the forms contradict each other beyond the band. None where the band is not known.
        """
        if self.excess is None:
            return None
        value, low, high = (
            None if one is None else max(0.0, one / 2) for one in (self.excess.value, self.excess.low, self.excess.high)
        )
        return Estimate(value=value or 0.0, low=low, high=high, n=self.n)


def retest_band(repeats: Sequence[Sequence[Answer]], *, clusters: Sequence[Hashable] | None = None) -> RetestBand:
    """Return how far answers to the very same question move.

    Args:
        repeats: the answers of each case, two or more; cases with fewer say nothing.
        clusters: which cluster each case is in; each in its own when None.

    Raises:
        UsageError: no case was asked twice.

    """
    keys = range(len(repeats)) if clusters is None else clusters
    cases = [
        ([distance(one, other) for one, other in combinations(answers, 2)], key)
        for answers, key in zip(repeats, keys, strict=True)
        if len(answers) > 1
    ]
    if not cases:
        raise UsageError("no case was asked the very same twice: ask some again, to know the noise.")
    same, held = [sum(move <= _SAME for move in moves) / len(moves) for moves, _ in cases], [key for _, key in cases]
    return RetestBand(
        n=len(cases),
        change=_mean([math.fsum(moves) / len(moves) for moves, _ in cases], held),
        identical=_share(same, held),
        largest=max(max(moves) for moves, _ in cases),
    )


def answer_change(
    first: Sequence[Answer],
    second: Sequence[Answer],
    *,
    band: RetestBand | None,
    clusters: Sequence[Hashable] | None = None,
) -> AnswerChange:
    """Return how far answers move between two forms, beyond the retest band.

    The interval of the excess is made of those of the two means (MOVER: Zou and Donner 2008, eq. 9). Noise only adds to
    a mean distance, and by no more than its own: the excess is at most what the two forms differ by without noise.

    Args:
        first: one a case.
        second: one a case, in the same order, mapped back to the options of the first.
        band: of the same judge; None where nothing was asked twice.
        clusters: which cluster each case is in; each in its own when None.

    Raises:
        UsageError: there are none, or not as many of each.

    """
    if not first or len(first) != len(second):
        raise UsageError(f"two forms need answers to the same cases: there are {len(first)} and {len(second)}.")
    keys = range(len(first)) if clusters is None else clusters
    moves = [distance(one, other) for one, other in zip(first, second, strict=True)]
    change = _mean(moves, keys)
    return AnswerChange(
        n=len(moves),
        change=change,
        share_changed=_share([float(move > _SAME) for move in moves], keys),
        band=band,
        excess=None if band is None else _less(change, band.change),
    )


def _less(change: Estimate, noise: Estimate) -> Estimate:
    value = change.value - noise.value
    if change.low is None or change.high is None or noise.low is None or noise.high is None:
        return Estimate(value=value, low=None, high=None, n=change.n)
    below = math.hypot(change.value - change.low, noise.high - noise.value)
    above = math.hypot(change.high - change.value, noise.value - noise.low)
    return Estimate(value=value, low=max(-1.0, value - below), high=min(1.0, value + above), n=change.n)


def _share(values: Sequence[float], clusters: Sequence[Hashable]) -> Estimate:
    mean = math.fsum(values) / len(values)
    return share_estimate(mean, [value - mean for value in values], clusters)


def _mean(moves: Sequence[float], clusters: Sequence[Hashable]) -> Estimate:
    """Return the mean of distances, its interval made on the logarithm's scale: many are 0, and a few are large.

    Where all are the same, or almost none is above 0, as many may be 0, or as large as the largest, as so few clusters
    cannot rule out.
    """
    mean = math.fsum(moves) / len(moves)
    found = estimate(mean, [move - mean for move in moves], clusters, logarithmic=True)
    count = len(set(clusters))
    if found.high is not None or count == 1:
        return found
    unseen = unchanged_bound(count) * (max(moves) or 1.0)
    return Estimate(value=mean, low=max(0.0, mean - unseen), high=min(1.0, mean + unseen), n=len(moves))
