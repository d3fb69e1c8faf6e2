"""Conditional maximum likelihood: pairs are conditioned away, and ratings are essentially unbiased.

Who was right among the judges of a pair, given how many were: moments of the conditional Bernoulli distribution. They
are ratios of elementary symmetric functions of the judges' strengths. These come from the Fourier transform of the
generating function (as Hong 2013 does for the Poisson binomial), with the strengths scaled so that the expected total
is the observed one: the wanted coefficient is then the largest, and nothing cancels.

Conditional maximum likelihood: pairs are conditioned away, and ratings are essentially unbiased. The Rasch model
given how many judges were right on each pair (Andersen 1970). Joint estimation inflates ratings by about J / (J - 1)
at J judges, since every pair brings a parameter of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking.credits import Credits, Floats, Ints, Marks
from judgeharness_integrations.analysis.ranking.jointfit import (
    ELO_MEAN,
    ELO_POINTS,
    Patterns,
    by_cluster,
    gauge_of,
    joint_model,
    maximise,
    patterns_of,
)
from judgeharness_integrations.analysis.statistics.search import bisected_each

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


SINGULAR = 1e10  # condition number of an information from which on something cannot be told apart
_TOLERANCE = 1e-9  # logits
_LONGEST_STEP = 2.0
_MOST_STEPS = 100


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalEstimate:
    """Maximum of the conditional likelihood, in logits; abilities, which come first, have mean 0.

    `values` (k,); `information` (k, k) with its gauge; `chance` (patterns, columns) of being right given the total.
    """

    values: Floats
    information: Floats
    chance: Floats
    log_likelihood: float
    steps: int


def conditional_maximum(
    patterns: Patterns, design: Floats, *, judges: int, start: Floats
) -> ConditionalEstimate | None:
    """Return the maximum; None where it is not finite.

    Args:
        patterns: of credits, pairs x columns.
        design: (columns, k) parameters behind the logit of each column; the first `judges` are abilities.
        judges: how many.
        start: (k,) in logits.

    """
    estimate: Floats = start
    move: Floats = np.zeros(len(start))
    value, scale = -np.inf, 0.0
    for step in range(1, _MOST_STEPS + 1):
        reached = estimate + scale * move
        moments = conditional_moments(patterns, design @ reached)
        likelihood = float(patterns.wins @ design @ reached - patterns.count @ moments.log_gamma)
        if likelihood < value - 1e-9 * abs(value):
            scale /= 2
            continue
        estimate, value = reached, likelihood
        information = design.T @ moments.covariance @ design + gauge_of(judges, len(start))
        if np.linalg.cond(information) > SINGULAR:  # on the way to infinity
            return None
        slope = design.T @ (patterns.wins - patterns.count @ moments.chance)
        move = np.asarray(np.linalg.solve(information, slope), np.float64)
        longest = float(np.abs(move).max())
        if longest < _TOLERANCE:
            estimate = estimate - np.where(np.arange(len(estimate)) < judges, estimate[:judges].mean(), 0.0)
            return ConditionalEstimate(
                values=estimate,
                information=information,
                chance=moments.chance,
                log_likelihood=value,
                steps=step,
            )
        scale = min(1.0, _LONGEST_STEP / longest)
    return None


_FRACTIONS = (
    "conditional maximum likelihood counts right answers and takes no fractional credit: count ties as wrong, or "
    "rank by bradley-terry."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalFit:
    """`theta` (judges,) in logits, sum 0; `elo` = 1500 + 400 theta / ln 10; `covariance` (judges, judges), squared."""

    judges: tuple[str, ...]
    theta: Floats
    elo: Floats
    covariance: Floats
    log_likelihood: float
    steps: int

    @property
    def se(self) -> Floats:
        """(judges,) standard errors of `elo`, in Elo."""
        return np.sqrt(np.diag(self.covariance))


def fit_conditional(matrix: Credits, *, clusters: Ints | None = None) -> ConditionalFit:
    """Fit the Rasch model by conditional maximum likelihood.

    Errors are cluster-robust, with the factor G / (G - 1) of G clusters.

    Args:
        matrix: pairs x judges of 0 and 1, NaN where a judge was not asked; connected and without unanimous pairs.
        clusters: (pairs,) 0-based number of each pair's cluster; each pair is one when None.

    Raises:
        UsageError: a credit is a fraction, or there is no finite maximum.

    """
    if matrix.fractional:
        raise UsageError(_FRACTIONS)
    patterns = patterns_of(matrix.values)
    found = _maximum(patterns)
    residuals = np.where(matrix.seen, matrix.values - found.chance[patterns.of], 0.0)
    summed = by_cluster(residuals, clusters)
    moved = np.linalg.solve(found.information, summed.T).T
    groups = len(summed)
    return ConditionalFit(
        judges=matrix.judges,
        theta=found.values,
        elo=ELO_MEAN + ELO_POINTS * found.values,
        covariance=ELO_POINTS**2 * groups / max(groups - 1, 1) * (moved.T @ moved),
        log_likelihood=found.log_likelihood,
        steps=found.steps,
    )


def _maximum(patterns: Patterns) -> ConditionalEstimate:
    judges = len(patterns.wins)
    joint = maximise(joint_model(patterns))
    found = joint and conditional_maximum(
        patterns, np.eye(judges), judges=judges, start=joint.ability * (judges - 1) / judges
    )
    if not found:
        raise UsageError("conditional maximum likelihood has no finite maximum here: some judges are never beaten.")
    return found
