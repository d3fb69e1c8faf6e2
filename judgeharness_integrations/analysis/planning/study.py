"""A study of so many cases: how likely what `report` or `compare` prints of its decisions reaches a goal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, betaincinv, chdtr, chdtri, ndtri

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import VerdictRow

from ..aggregation.rules import Rule, decide
from ..comparison.comparing import DIFFERENCE_WEIGHT, NOISE_WEIGHT, first_levels
from ..comparison.difference import PowerBasis
from ..statistics import POWER
from ..statistics.means import Z95, careful_effect, t_quantile
from ..statistics.paired import beta_binomial, binomial, bisected, fewest, last
from ..statistics.proportions import wilson, wilson_of


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What is wanted of the decisions of a study, in units of the score or as a share.

    Args:
        kind: `width`: of the 95 % interval that `report` prints, of the rate of the positive label or of the mean
            score, from end to end; `difference`: between two systems judged on the same cases, found by the test that
            `compare` makes.
        value: how much.
        correlation: of the two systems over the same cases, in what the judge says of each case in the long run: what
            pairing takes away, as a share of the largest covariance that their two rates allow. It is assumed, not
            measured, and counts for nothing where no variance between cases was (`report.truths_of`).
        assurance: share of studies that reach the goal, the pilot's uncertainty included: whose interval is no wider,
            or that find the difference. None: what the pilot says is taken for certain and a width at its expected
            value, which .22 (a rate of one half) to .66 of studies meet; a difference is then found in 80 %.

    """

    kind: Literal["width", "difference"] = "width"
    value: float = 0.1
    correlation: float = 0.5
    assurance: float | None = 0.8

    def __post_init__(self) -> None:
        """Refuse what cannot be reached or means nothing."""
        if not (math.isfinite(self.value) and self.value > 0):
            raise UsageError(f"a wanted {self.kind} must be above 0, not {self.value:g}.")
        if not 0 <= self.correlation <= 1:
            raise UsageError(f"correlation must lie between 0 and 1, not {self.correlation:g}.")
        if self.assurance is not None and not 0 < self.assurance < 1:
            raise UsageError(f"assurance must lie between 0 and 1, not {self.assurance:g}.")

    @property
    def systems(self) -> int:
        """How many systems are judged: two where a difference is wanted."""
        return 2 if self.kind == "difference" else 1

    @property
    def share(self) -> float:
        """The share of studies that are to reach the goal."""
        return POWER if self.assurance is None else self.assurance


Floats: TypeAlias = NDArray[np.float64]

_NODES: Final = 48
_DRAWS: Final = 400
_EDGE: Final = 1e-9
_HALF: Final = 0.5
_RATES: Final = 33
_STEPS: Final = (0.25, 0.5, 1.0)  # from one rate of samples to the end beyond one half
_ALIKE: Final = 1e-3  # beyond it nothing changes, and quantiles take long


@dataclass(frozen=True, kw_only=True)
class Decided:
    """Plausible truths, one an entry: the share of cases decided positive, and the variance over cases of its chance.

    The decision of a case is positive with a chance P(rule decides positive | case); repetition moves that chance
    towards 0 and 1, and leaves rate (1 - rate), which a report's interval is made of, nearly as it is.

    `seconds` (steps, truths) are rates of other systems nearer to the other end, which order cases as this one does,
    and `shared` (steps, truths) the covariances of both systems' chances over cases; None where none was asked for.
    """

    rates: Floats
    spreads: Floats
    seconds: Floats | None = None
    shared: Floats | None = None

    def shared_with(self, rates: Floats) -> Floats:
        """Return the covariance over cases with another system of these rates, one a truth.

        Without other systems it is taken for perfectly correlated, with a spread in proportion to rate (1 - rate).
        """
        known, other = (np.maximum(one * (1 - one), _EDGE) for one in (self.rates, rates))
        found: Floats = self.spreads * np.sqrt(other / known)
        if self.seconds is None or self.shared is None:
            return found
        own = np.maximum(self.spreads * np.sqrt(np.maximum(self.seconds * (1 - self.seconds), _EDGE) / known), _EDGE)
        away, ratio = np.abs(self.seconds - self.rates), np.clip(self.shared / own, 0.0, 1.0)
        distance = np.abs(rates - self.rates)
        factors = [
            np.interp(d, np.r_[0.0, a], np.r_[1.0, r]) for d, a, r in zip(distance, away.T, ratio.T, strict=True)
        ]
        found *= np.array(factors)
        return found


@dataclass(frozen=True, kw_only=True)
class Judging:
    """How samples become a decision: `labels`, the positive one first, `others` the shares of the rest of them.

    `others` are shares of the valid samples that are not positive; `failed` is the share of samples without a verdict.
    """

    rule: Rule
    labels: tuple[str, ...] = ("PASS", "FAIL")
    others: tuple[float, ...] = (1.0,)
    failed: float = 0.0
    min_valid: int | None = None

    def chances(self, perturbations: int, repetitions: int) -> Floats:
        """Return the chance that the rule decides positive, by how many samples would say so (in each order).

        The rule itself is asked. How the other samples divide, and which samples fail, is drawn with a fixed seed.
        """
        orders = 2 if self.rule.both_orders else 1
        size = perturbations * repetitions // orders
        random, shape = np.random.default_rng(0), (size + 1,) * orders
        seen: dict[tuple[int, ...], float] = {}
        certain = not self.failed and len(self.others) == 1
        found = np.zeros(shape)
        for place in np.ndindex(*shape):
            draws = [self._drawn(random, count, size, 1 if certain else _DRAWS) for count in place]
            found[place] = np.mean([self._positive(key, seen) for key in map(tuple, np.hstack(draws).tolist())])
        return found

    def _drawn(self, random: np.random.Generator, positive: int, size: int, draws: int) -> NDArray[np.int64]:
        """Return how many samples of an order fall on each label and fail, one row a draw."""
        left = random.binomial(positive, 1 - self.failed, size=draws)
        valid = random.binomial(size - positive, 1 - self.failed, size=draws)
        others = random.multinomial(valid, np.array(self.others) / sum(self.others))
        return np.column_stack((left, others, size - left - valid)).astype(np.int64)

    def _positive(self, counts: tuple[int, ...], seen: dict[tuple[int, ...], float]) -> float:
        if counts not in seen:
            width = len(self.labels) + 1
            parts = [counts[start : start + width] for start in range(0, len(counts), width)]
            rows = [
                row for swapped, part in enumerate(parts) for row in _rows(self.labels, part, swapped=bool(swapped))
            ]
            said = decide(rows, self.rule, min_valid=self.min_valid, checked=True)
            seen[counts] = float(said.status == "decided" and said.verdict == self.labels[0])
        return seen[counts]


def _rows(labels: Sequence[str], counts: Sequence[int], *, swapped: bool) -> list[VerdictRow]:
    said = [VerdictRow(case_id="", verdict=label, swapped=swapped) for label in labels]
    said.append(VerdictRow(case_id="", verdict=None, outcome="error", swapped=swapped))
    return [row for row, count in zip(said, counts, strict=True) for _ in range(count)]


@dataclass(frozen=True, kw_only=True)
class LabelModel:
    """Plausible truths about samples: a nested beta-binomial, fitted to a pilot by moments.

    The chance of a positive sample varies over cases as a beta distribution with mean `rates` and the share `between`
    of the variance rate (1 - rate); over the perturbations of a case as another one, with the share `within` of what is
    left; samples under a perturbation are independent.
    """

    judging: Judging
    rates: Floats
    between: Floats
    within: float = 0.0

    def decided(self, perturbations: int, repetitions: int, *, apart: float | None = None) -> Decided:
        """Return what the rule decides with so many samples a case, for each of the truths.

        `apart`: beside what other systems decide, which say more of the rarer label, and order cases alike; one of them
        so far away that nothing is interpolated where a difference of that size is asked about.
        """
        table = self.judging.chances(perturbations, repetitions)
        size = (perturbations // table.ndim, repetitions)
        cases, chance = self.chances(self.rates, table, size)
        rates, squares = (_mean(one, cases, self.rates) for one in (chance, chance**2))
        rates = np.clip(rates, 0.0, 1.0)
        found = Decided(rates=rates, spreads=np.clip(squares - rates**2, 0.0, rates * (1 - rates)))
        if apart is None:
            return found
        others = _Others(model=self, rates=rates, cases=cases, chance=chance, table=table, size=size)
        seconds, shared = others.nearer(apart)
        return replace(found, seconds=seconds, shared=shared)

    def neediest(self, mean: float, perturbations: int, repetitions: int, *, apart: float | None = None) -> float:
        """Return the rate of samples whose decisions take most cases, on the side of a pilot's mean.

        For a width that is where as many cases are decided positive as not, for a difference of `apart` where two
        systems lie to either side of that. Where so many are never decided positive it is 1.
        """
        rates = np.linspace(0.0, 1.0, _RATES)
        between = np.full(_RATES, float(np.median(self.between)))
        found = np.maximum.accumulate(
            replace(self, rates=rates, between=between).decided(perturbations, repetitions).rates
        )
        below = float(np.interp(mean, rates, found)) < _HALF
        wanted = _HALF - (apart or 0.0) / 2 if below else _HALF + (apart or 0.0) / 2
        return float(np.interp(wanted, found, rates))

    def chances(self, rates: Floats, table: Floats, size: tuple[int, int]) -> tuple[Floats, Floats]:
        """Return chances of a positive sample, and of a positive decision, at evenly spread cases, one row a truth."""
        cases = chances_of_cases(rates, self.between, _NODES)
        counts = _counts(cases, self.within, *size)
        chance = counts @ table
        return cases, np.einsum("bnk,bnk->bn", chance, counts) if table.ndim > 1 else chance


@dataclass(frozen=True, kw_only=True)
class _Others:
    """Other systems beside one whose decisions have these `rates`, and this `chance` at these `cases`."""

    model: LabelModel
    rates: Floats
    cases: Floats
    chance: Floats
    table: Floats
    size: tuple[int, int]

    def nearer(self, apart: float) -> tuple[Floats, Floats]:
        """Return (steps, truths) rates and covariances of systems nearer to the other end, by how far they are."""
        found = [self._at(np.full_like(self.rates, step)) for step in _STEPS]
        away = np.abs(np.array([rates for rates, _ in found]) - self.rates)
        steps = [np.interp(apart, np.r_[0.0, far], np.r_[0.0, _STEPS]) for far in away.T]
        found.append(self._at(np.array(steps)))
        seconds, shared = (np.array(one) for one in zip(*found, strict=True))
        order = np.argsort(np.abs(seconds - self.rates), axis=0, kind="stable")
        return np.take_along_axis(seconds, order, axis=0), np.take_along_axis(shared, order, axis=0)

    def _at(self, step: Floats) -> tuple[Floats, Floats]:
        """Return the rate of a system so far on the way to the end, and its covariance with the first."""
        model, up = self.model, self.rates < _HALF
        samples = model.rates + step * (up - model.rates)
        cases, chance = model.chances(samples, self.table, self.size)
        rates = np.clip(_mean(chance, cases, samples), 0.0, 1.0)
        fewer = np.where(up[:, None], self.cases, cases)  # of the system that has fewer positive cases: both have those
        both = _mean(self.chance * chance, fewer, np.where(up, model.rates, samples))
        return rates, both - self.rates * rates


def _mean(values: Floats, cases: Floats, rates: Floats) -> Floats:
    """Return the means over cases, with what few points miss of the known mean of their chances as control variate."""
    apart = cases - cases.mean(axis=1, keepdims=True)
    slope = (apart * values).sum(axis=1) / np.maximum((apart**2).sum(axis=1), _EDGE)
    found: Floats = values.mean(axis=1) + slope * (rates - cases.mean(axis=1))
    return found


def chances_of_cases(rates: Floats, between: Floats, points: int) -> Floats:
    """Return equally likely chances of a positive sample, one row a truth: quantiles of the beta distribution.

    Args:
        rates: their means.
        between: the share of rate (1 - rate) that lies between cases.
        points: how many of each.

    """
    return _quantiles(rates.tobytes(), between.tobytes(), points)


@lru_cache(maxsize=16)  # the designs of a plan differ in samples, not in cases
def _quantiles(rates: bytes, between: bytes, points: int) -> Floats:
    mean = np.clip(np.frombuffer(rates), _EDGE, 1 - _EDGE)[:, None]
    share = np.clip(np.frombuffer(between), _ALIKE, 1 - _ALIKE)[:, None]
    size = (1 - share) / share
    found: Floats = betaincinv(mean * size, (1 - mean) * size, (np.arange(points) + 0.5) / points)
    return found


def _counts(cases: Floats, within: float, perturbations: int, repetitions: int) -> Floats:
    """Return the distribution of the number of positive samples of each case, on a last axis."""
    one = _of_perturbation(np.clip(cases, _EDGE, 1 - _EDGE), within, repetitions)
    found = one
    for _ in range(perturbations - 1):
        joined = np.zeros((*cases.shape, found.shape[-1] + repetitions))
        for count in range(repetitions + 1):
            joined[..., count : count + found.shape[-1]] += one[..., count : count + 1] * found
        found = joined
    return found


def _of_perturbation(cases: Floats, within: float, repetitions: int) -> Floats:
    """Return the beta-binomial (without variance between perturbations: binomial) chances of 0 .. R positive ones."""
    counts, chance = np.arange(repetitions + 1), cases[..., None]
    if within <= _EDGE:
        return binomial(counts, repetitions, chance)
    size = (1 - within) / max(within, _EDGE) + _EDGE
    return beta_binomial(counts, repetitions, chance * size, (1 - chance) * size)


Bools: TypeAlias = NDArray[np.bool_]
Study: TypeAlias = "RateStudy | ScoreStudy | AnyNoise"

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

    def seen(self, rate: Floats | float, cases: int, *, degrees: float | None) -> Floats:
        """Return the design effect that intervals of a rate are made with.

        Args:
            rate: of the study.
            cases: of the study.
            degrees: of freedom of its clusters, by which estimates scatter; None: as much as expected.

        """
        scatter = 1.0 if degrees is None else chdtri(degrees, 1 - self.spreads) / degrees
        effect = careful_effect(self.inflation() * scatter, rate, items=cases, size=self.size)
        found: Floats = np.maximum(1.0, effect)
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
            trials, z = cases / float(self.clusters.seen(rate, cases, degrees=None)[0]), t_quantile(degrees)
        low, high = wilson_of(rate, trials, z)
        return high - low

    def _clustered(self, clusters: Clustered, cases: int, value: float) -> float:
        degrees = _degrees(cases, clusters)
        if degrees <= 0:
            return 0.0
        rates = self.decided.rates
        spread = np.sqrt(rates * (1 - rates) * clusters.inflation() / cases)
        seen = np.clip(rates + spread * ndtri(self.uniforms), 0.0, 1.0)
        trials = cases / clusters.seen(seen, cases, degrees=degrees)
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


@dataclass(frozen=True, kw_only=True)
class AnyNoise:
    """Studies of one design that differ in the judge's noise, which nothing tells: what is promised holds in each."""

    studies: Sequence[RateStudy]

    @property
    def goal(self) -> Goal:
        """What is wanted of each of them."""
        return self.studies[0].goal

    def share(self, cases: int, value: float) -> float:
        """Return the share of studies that reach a width or difference, under the noise where fewest do."""
        return min(study.share(cases, value) for study in self.studies)
