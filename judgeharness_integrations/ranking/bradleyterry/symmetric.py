"""Who was right among the judges of a pair, given how many were: moments of the conditional Bernoulli distribution.

They are ratios of elementary symmetric functions of the judges' strengths. These come from the Fourier transform of the
generating function (as Hong 2013 does for the Poisson binomial), with the strengths scaled so that the expected
total is the observed one: the wanted coefficient is then the largest, and nothing cancels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from judgeharness_integrations.ranking.arrays import Floats, Marks
from judgeharness_integrations.ranking.bradleyterry.patterns import Patterns
from judgeharness_integrations.statistics.search import bisected_each

__all__ = ["ConditionalMoments", "conditional_moments"]

_CELLS = 1 << 20  # complex numbers at a time: 16 MB
_TILTING_STEPS = 60


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalMoments:
    """Given the totals of the patterns.

    `log_gamma` (patterns,): log of the elementary symmetric function; `chance` (patterns, judges): of being right;
    `covariance` (judges, judges): of who is right, summed over all pairs.
    """

    log_gamma: Floats
    chance: Floats
    covariance: Floats


def conditional_moments(patterns: Patterns, ability: Floats) -> ConditionalMoments:
    """Return the moments at abilities (judges,), in logits; totals are whole numbers, none of them 0 or all judges."""
    judges = len(ability)
    chance = np.zeros(patterns.seen.shape)
    log_gamma = np.zeros(len(patterns.total))
    second = np.zeros((judges, judges))
    tilt = _tilt(patterns, ability)
    for part in _parts(len(patterns.total), judges):
        share = np.where(patterns.seen[part], special.expit(ability + tilt[part, None]), 0.0)
        first, mixed, mass = _moments(share, patterns.total[part], patterns.count[part])
        chance[part] = first
        second += mixed
        lost = np.where(patterns.seen[part], np.logaddexp(0.0, ability + tilt[part, None]), 0.0).sum(axis=1)
        log_gamma[part] = np.log(mass) + lost - patterns.total[part] * tilt[part]
    weighted = patterns.count[:, None] * chance
    np.fill_diagonal(second, weighted.sum(axis=0))
    return ConditionalMoments(log_gamma=log_gamma, chance=chance, covariance=second - weighted.T @ chance)


def _parts(patterns: int, judges: int) -> Iterator[slice]:
    size = max(1, _CELLS // (judges * (judges // 2 + 1)))
    return (slice(start, start + size) for start in range(0, patterns, size))


def _tilt(patterns: Patterns, ability: Floats) -> Floats:
    """Return (patterns,) the shift of all logits that makes the expected total the observed one, nearly."""
    low, high = np.full(len(patterns.total), -ability.max() - 30), np.full(len(patterns.total), 30 - ability.min())

    def short(shift: Floats) -> Marks:
        expected = np.where(patterns.seen, special.expit(ability + shift[:, None]), 0.0).sum(axis=1)
        return np.asarray(expected < patterns.total, np.bool_)

    low, high = bisected_each(short, low, high, steps=_TILTING_STEPS)
    return np.asarray((low + high) / 2, np.float64)


def _moments(share: Floats, total: Floats, count: Floats) -> tuple[Floats, Floats, Floats]:
    """Return chances (patterns, judges), second moments summed over pairs, and the mass at each total (patterns,).

    An odd number of frequencies keeps away from -1, where a factor of an even chance would be 0.
    """
    points = share.shape[1] + 1 + share.shape[1] % 2
    frequencies = 2j * np.pi * np.arange(points // 2 + 1) / points
    turn = np.exp(frequencies)[None, :, None]
    factor = 1 - share[:, None, :] + share[:, None, :] * turn
    wave = np.prod(factor, axis=2) * np.exp(-frequencies[None, :] * total[:, None])
    wave[:, 1:] *= 2  # the other half is the complex conjugate
    mass = wave.real.sum(axis=1) / points
    ratio = wave / (points * mass[:, None])
    part = share[:, None, :] * turn / factor
    first = np.einsum("pl,plj->pj", ratio, part).real
    flat = part.reshape(-1, share.shape[1])
    weight = (count[:, None] * ratio).reshape(-1, 1)
    return first, ((flat * weight).T @ flat).real, mass
