"""A gate that may be looked at after every case: evidence for and against a bar instead of a fixed number of cases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.gates.expression import Expression
from judgeharness_integrations.sequential import log_e_mean, log_e_rate, mean_interval, rate_interval

__all__ = ["ALPHA", "Evidence", "Weighed", "weigh"]

Outcome: TypeAlias = Literal["passed", "failed", "unsettled"]

ALPHA: Final = 0.05  # of both ends of an interval together: a gate looks at one of them
_NEEDED: Final = 2 / ALPHA
_LARGEST: Final = 700.0  # of logarithms


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The units that were looked at, in their order: single cases, or clusters of them.

    `totals` are the sums of the values of a unit's cases, each from 0 to 1, and `weights` how many cases count; `most`
    is the largest number of cases a unit can have. `size` is the number of units in the suite, None for a population.
    """

    totals: NDArray[np.float64]
    weights: NDArray[np.float64]
    most: int = 1
    size: int | None = None

    @classmethod
    def of(cls, values: Sequence[float | None], clusters: Sequence[Hashable], *, size: int | None = None) -> Evidence:
        """Return the units of cases; None as a value is a case that does not count.

        Args:
            values: one a case, from 0 to 1, in the order in which cases were to be looked at.
            clusters: which cluster each case is in, itself alone or with others. Of a population all must hold equally
                many cases, and of a suite the largest must be among them.
            size: units in the suite.

        """
        places: dict[Hashable, int] = {}
        for cluster in clusters:
            places.setdefault(cluster, len(places))
        totals, weights = np.zeros(len(places)), np.zeros(len(places))
        for value, cluster in zip(values, clusters, strict=True):
            if value is not None:
                totals[places[cluster]] += value
                weights[places[cluster]] += 1
        return cls(totals=totals, weights=weights, most=max(Counter(clusters).values(), default=1), size=size)

    @cached_property
    def plain(self) -> NDArray[np.float64] | None:
        """The values where every unit is one case that counts as 0 or 1; None where a mean has to be weighed."""
        counting = self.weights > 0
        if self.most > 1 or (self.size is not None and not counting.all()):
            return None
        values = self.totals[counting]
        return values if np.isin(values, (0.0, 1.0)).all() else None

    @property
    def value(self) -> float:
        """The mean over the cases that count, of which there is one at least."""
        return float(self.totals.sum() / self.weights.sum())

    @property
    def counts(self) -> bool:
        """Whether any case does."""
        return bool(self.weights.any())

    def log_e(self, bar: float, *, above: bool, strict: bool) -> float:
        """Return the logarithm of the evidence that the mean lies above a bar (or below it) at the last unit."""
        if self.plain is not None:
            hits = self.plain if above else 1 - self.plain
            return float(log_e_rate(hits, bar if above else 1 - bar, size=self.size, strict=strict)[-1])
        totals = self.totals if above else self.weights - self.totals
        at = bar if above else 1 - bar
        return float(log_e_mean(totals, self.weights, at, most=self.most, size=self.size, strict=strict, path=False))

    def interval(self) -> tuple[float, float]:
        """Return the 95 % confidence sequence of the mean at the last unit; the mean alone where no unit is left."""
        if self.size == len(self.weights):
            return self.value, self.value
        if self.plain is not None:
            return rate_interval(self.plain, alpha=ALPHA, size=self.size)
        return mean_interval(self.totals, self.weights, most=self.most, alpha=ALPHA, size=self.size)


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """What the evidence says about a bar: `p` is 1 / evidence for it, at most 1, and holds however often one looks."""

    outcome: Outcome
    p: float
    odds: float

    def sentence(self) -> str:
        """Return what was found, in words."""
        if self.outcome == "unsettled":
            return f"not settled: the evidence is {self.odds:.3g} to 1, and {_NEEDED:g} to 1 is needed"
        if math.isinf(self.odds):
            return f"settled {'for' if self.outcome == 'passed' else 'against'} it: the cases left cannot change it"
        direction = "for" if self.outcome == "passed" else "against"
        return f"settled {direction} it: the evidence is {self.odds:.3g} to 1, and {_NEEDED:g} to 1 is needed"


def weigh(expression: Expression, evidence: Evidence, *, scale: tuple[float, float] | None = None) -> Weighed:
    """Return whether the evidence settles a bar; `scale` are the ends of scores, which are 0 and 1 in `evidence`."""
    bar, high = expression.bar, expression.wants_high
    if scale is not None:
        bar = (bar - scale[0]) / (scale[1] - scale[0])
    strict = expression.operator in {">", "<"}
    pro = _odds(evidence.log_e(bar, above=high, strict=strict))
    contra = _odds(evidence.log_e(bar, above=not high, strict=not strict))
    excluded = math.isinf(contra)  # the cases left cannot bring it about, whatever it looked like before
    p = min(1.0, 1 / pro) if pro and not excluded else 1.0
    if pro >= _NEEDED and not excluded:
        return Weighed(outcome="passed", p=p, odds=pro)
    return Weighed(outcome="failed" if contra >= _NEEDED else "unsettled", p=p, odds=max(pro, contra))


def _odds(log_e: float) -> float:
    return math.exp(log_e) if log_e < _LARGEST else math.inf
