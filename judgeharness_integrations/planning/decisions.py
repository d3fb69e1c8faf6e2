"""What a rule decides about cases that vary as those of a pilot: the share decided positive, and its spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from judgeharness_integrations.aggregation.deciding import decide
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.statistics.counts import beta_binomial, binomial
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["Decided", "Judging", "LabelModel", "chances_of_cases"]

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
