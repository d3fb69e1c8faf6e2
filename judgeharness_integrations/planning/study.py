"""A study of so many cases: how likely what `report` or `compare` prints of its decisions reaches a goal."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, chdtr, chdtri, ndtri

from judgeharness_integrations.comparison.family import DIFFERENCE_WEIGHT, NOISE_WEIGHT, first_levels
from judgeharness_integrations.comparison.power import PowerBasis
from judgeharness_integrations.planning.decisions import Decided
from judgeharness_integrations.planning.goal import Goal
from judgeharness_integrations.statistics.means import Z95, t_quantile
from judgeharness_integrations.statistics.proportions import wilson, wilson_of
from judgeharness_integrations.statistics.search import bisected, fewest, last

__all__ = ["MOST_CASES", "Alone", "Clustered", "RateStudy", "ScoreStudy", "Study", "cases_of", "level_of", "reached_by"]

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Study: TypeAlias = "RateStudy | ScoreStudy"

MOST_CASES: Final = 10_000_000
_FEWEST: Final = 2
_ALPHA: Final = 0.05
_HALVINGS: Final = 30
_MASSES: Final = 5
_ROUNDING: Final = 1e-9


def cases_of(study: Study, *, least: int = _FEWEST) -> int | None:
    """Return how many cases reach the goal, at least so many; None beyond 10 million."""
    return fewest(lambda cases: study.share(cases, study.goal.value) >= study.goal.share, least=least, most=MOST_CASES)


def reached_by(study: Study, cases: int) -> float | None:
    """Return the width, or the smallest difference, that the wanted share of studies reaches; None where none is."""
    high = study.goal.value
    while cases < _FEWEST or study.share(cases, high) < study.goal.share:
        high *= 2
        if cases < _FEWEST or high > study.goal.value * 2**20:
            return None
    return bisected(lambda value: study.share(cases, value) < study.goal.share, 0.0, high, steps=_HALVINGS)[1]


def level_of(samples: int) -> float:
    """Return the level the test of a difference has to reach in `compare`, whatever its test of noise says.

    One sample a case shows no noise: then there is no other test.
    """
    weights = [DIFFERENCE_WEIGHT] if samples == 1 else [DIFFERENCE_WEIGHT, NOISE_WEIGHT]
    return first_levels(weights, _ALPHA)[0]


@dataclass(frozen=True, kw_only=True)
class Alone:
    """Cases that stand for themselves."""


@dataclass(frozen=True, kw_only=True)
class Clustered:
    """Cases of which `size` share a cluster, and plausible correlations of two of them, one a truth."""

    size: float
    correlations: Floats
    spreads: Floats = field(repr=False)

    def inflation(self) -> Floats:
        """Return what clusters multiply the variance of a mean by, at least 1 as it is where intervals are made."""
        return 1 + (self.size - 1) * np.clip(self.correlations, 0.0, 1.0)

    def measured(self, degrees: float) -> Floats:
        """Return what that variance comes out as in a study whose clusters leave so many degrees of freedom."""
        found: Floats = self.inflation() * chdtri(degrees, 1 - self.spreads) / degrees
        return found


Cases: TypeAlias = Alone | Clustered


def _degrees(cases: float, clusters: Cases) -> float:
    return (cases / clusters.size if isinstance(clusters, Clustered) else cases) - 1


def _t_power(errors: Floats, *, cases: int, degrees: float, clustered: bool, level: float, difference: float) -> float:
    """Return the mean power of the t test; of clusters, none where they are too few for a permutation to reach."""
    if degrees < 1 or (clustered and 2.0**-degrees > level):
        return 0.0
    middles = np.quantile(errors, (np.arange(_MASSES) + 0.5) / _MASSES)
    powers = [
        PowerBasis(n=cases, level=level, error=max(float(error), 1e-12), degrees=degrees).power(difference)
        for error in middles
    ]
    return math.fsum(powers) / len(powers)


@dataclass(frozen=True, kw_only=True)
class RateStudy:
    """A rate of decisions: Wilson's interval of `report`, McNemar's mid-p test of `compare`.

    Args:
        goal: what is wanted.
        decided: what the rule decides, by plausible truths.
        clusters: which cases belong together.
        level: of the test.
        uniforms: one a truth, where in its distribution the rate of a study of clusters lies.
        even: one a truth, whether it stands for all that a pilot cannot tell from a rate of one half. There one case
            more or less decides for nearly all studies, and the luck of a study would be added to that of the pilot.

    """

    goal: Goal
    decided: Decided
    clusters: Cases = field(default_factory=Alone)
    level: float = _ALPHA
    uniforms: Floats = field(default_factory=lambda: np.array([0.5]), repr=False)
    even: Bools = field(default_factory=lambda: np.array([False]), repr=False)

    def share(self, cases: int, value: float) -> float:
        """Return the share of studies that reach a width or difference."""
        if self.goal.kind == "difference":
            return self._found(cases, value)
        if self.goal.assurance is None:
            return float(self._expected_width(cases) <= value)
        if isinstance(self.clusters, Clustered):
            return self._clustered(self.clusters, cases, value)
        most = _most_apart(cases, value)
        if most is None:
            return 1.0
        rates = self.decided.rates
        outside = (bdtr(most, cases, rates) if most >= 0 else 0.0) + bdtrc(cases - most - 1, cases, rates)
        return float(np.mean(np.where(self.even, 0.0, outside)))  # where all are to meet it, not all do

    def _expected_width(self, cases: int) -> float:
        rate, trials, z = float(self.decided.rates[0]), float(cases), Z95
        if isinstance(self.clusters, Clustered):
            degrees = _degrees(cases, self.clusters)
            if degrees <= 0:
                return math.inf
            trials, z = cases / float(self.clusters.inflation()[0]), t_quantile(degrees)
        low, high = wilson_of(rate, trials, z)
        return high - low

    def _clustered(self, clusters: Clustered, cases: int, value: float) -> float:
        degrees = _degrees(cases, clusters)
        if degrees <= 0:
            return 0.0
        rates = self.decided.rates
        spread = np.sqrt(rates * (1 - rates) * clusters.inflation() / cases)
        seen = np.clip(rates + spread * ndtri(self.uniforms), 0.0, 1.0)
        trials = np.where((seen > 0) & (seen < 1), cases / np.maximum(1.0, clusters.measured(degrees)), degrees + 1)
        quantile = t_quantile(degrees)
        limits = [wilson_of(float(rate), float(n), quantile) for rate, n in zip(seen, trials, strict=True)]
        return sum(high - low <= value for low, high in limits) / len(limits)

    def _found(self, cases: int, value: float) -> float:
        differences, exchanges = self._changes(value)
        if (cut := np.isnan(differences)).all():
            return 0.0
        if isinstance(self.clusters, Clustered):
            variance = (differences + 2 * exchanges - differences**2)[~cut]
            errors = np.sqrt(variance * self.clusters.inflation()[~cut] / cases)
            degrees = _degrees(cases, self.clusters)
            return _t_power(
                errors, cases=cases, degrees=degrees, clustered=True, level=self.level, difference=value
            ) * float(np.mean(~cut))
        powers = [
            PowerBasis(n=cases, level=self.level, exchange=float(exchange)).power(value)
            for exchange in np.quantile(exchanges[~cut], (np.arange(_MASSES) + 0.5) / _MASSES)
        ]
        return math.fsum(powers) / len(powers) * float(np.mean(~cut))

    @cached_property
    def _changes(self) -> Callable[[float], tuple[Floats, Floats]]:
        return lru_cache(maxsize=1)(self._changes_of)  # a search asks about one difference at many numbers of cases

    def _changes_of(self, value: float) -> tuple[Floats, Floats]:
        """Return the difference and what is exchanged besides, by truth; NaN where there is no room for it.

        The other system is `value` nearer to one half, where more cases change. Its decisions go with those of the
        first by the assumed correlation of what is decided in the long run.
        """
        rates, room = self.decided.rates, value <= 1 - np.minimum(self.decided.rates, 1 - self.decided.rates)
        first = np.minimum(rates, 1 - rates)
        second = np.clip(first + value, 0.0, 1.0)
        shared = self.decided.shared_with(np.where(rates <= 1 / 2, second, 1 - second))
        both = first * second + self.goal.correlation * shared
        exchanged = np.clip(first - np.minimum(both, first), 0.0, (1 - value) / 2 if value < 1 else 0.0)
        return np.where(room, value, np.nan), np.where(room, exchanged, np.nan)


def _most_apart(cases: int, width: float) -> int | None:
    """Return the largest number of positives, up to one half, whose interval is no wider; -1 of none, None of all."""

    def met(count: int) -> bool:
        low, high = wilson(count, cases) or (0.0, 1.0)
        return high - low <= width + _ROUNDING

    if met(cases // 2):
        return None
    if not met(0):
        return -1
    return last(met, 0, cases // 2)


@dataclass(frozen=True, kw_only=True)
class ScoreStudy:
    """A mean of decided scores: the t interval of `report`, the paired t test of `compare`.

    `between` are plausible variances between cases, `inside` those that samples leave in a case's decision; `graded` is
    the share of cases with a decision. See `RateStudy` for the others.
    """

    goal: Goal
    between: Floats
    inside: Floats
    graded: float = 1.0
    clusters: Cases = field(default_factory=Alone)
    level: float = _ALPHA

    @cached_property
    def _inflation(self) -> Floats | float:
        return self.clusters.inflation() if isinstance(self.clusters, Clustered) else 1.0

    def share(self, cases: int, value: float) -> float:
        """Return the share of studies that reach a width or difference."""
        count = math.floor(cases * self.graded)
        degrees = _degrees(count, self.clusters)
        if degrees <= 0:
            return 0.0
        if self.goal.kind == "difference":
            variance = 2 * (self.between * (1 - self.goal.correlation) + self.inside) * self._inflation
            return _t_power(
                np.sqrt(variance / count),
                cases=count,
                degrees=degrees,
                clustered=isinstance(self.clusters, Clustered),
                level=self.level,
                difference=value,
            )
        variance = (self.between + self.inside) * self._inflation
        allowed = count * (value / (2 * t_quantile(degrees))) ** 2
        if self.goal.assurance is None:
            return float(variance[0] <= allowed)
        return float(np.mean(chdtr(degrees, degrees * allowed / np.maximum(variance, 1e-300))))
