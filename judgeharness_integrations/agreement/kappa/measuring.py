"""A statistic of ratings -> reported coefficients with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.agreement.kappa.bootstrap import Bootstrap, Resamples, drawn_interval, resamples
from judgeharness_integrations.agreement.kappa.coefficient import Coefficient
from judgeharness_integrations.agreement.kappa.ratings import NO_ITEMS, Ratings

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.kappa.statistic import Codes, Statistic
    from judgeharness_integrations.agreement.kappa.units import Units

__all__ = ["Sample", "known", "measure", "unmeasured"]

_PAIR = 2
_NEVER = "no two answers agree, so resampling gives no interval"


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """What one coefficient is about: some raters (by place) of ratings."""

    name: str
    weights: str
    ratings: Ratings
    raters: Sequence[int]
    undefined: str = ""

    def _answers(self) -> Codes:
        answers: Codes = (self.ratings.codes[list(self.raters)] >= 0).sum(axis=0)
        return answers

    def units(self) -> int:
        """How many items or clusters the coefficient rests on."""
        shared = self._answers() >= _PAIR
        clusters = self.ratings.clusters
        return int(shared.sum()) if clusters is None else len(np.unique(clusters[shared]))

    def never_agrees(self) -> bool:
        """Whether no two answers are the same, which no resample can change: it would give a far too short interval."""
        if self.weights not in {"none", "nominal"}:
            return False
        ordered = np.sort(self.ratings.codes[list(self.raters)], axis=0)
        return not ((ordered[1:] == ordered[:-1]) & (ordered[1:] >= 0)).any()

    def coefficient(self, observed: float, expected: float, value: float, reason: str = "") -> Coefficient:
        """Return the coefficient without an interval; NaN becomes None, with the reason."""
        answers = self._answers()
        items = int((answers >= _PAIR).sum())
        shown = self.ratings.codes[list(self.raters)]
        return Coefficient(
            name=self.name,
            weights=self.weights,
            value=known(value),
            observed=known(observed),
            expected=known(expected),
            items=items,
            singles=int((answers == 1).sum()) if self.name in {"fleiss", "gwet"} else 0,
            raters=int((shown[:, answers >= _PAIR] >= 0).any(axis=1).sum()),
            categories=self.ratings.categories,
            reason=reason or ("" if np.isfinite(value) else self.undefined if items else NO_ITEMS),
        )


def known(number: float) -> float | None:
    """Return a number, or None for NaN."""
    return float(number) if np.isfinite(number) else None


def unmeasured(sample: Sample, reason: str) -> Coefficient:
    """Return a coefficient the ratings do not have."""
    return sample.coefficient(np.nan, np.nan, np.nan, reason)


def measure(
    statistic: Statistic, units: Units, samples: Sequence[Sample], bootstrap: Bootstrap
) -> tuple[list[Coefficient], Resamples]:
    """Return the coefficients of a statistic, and what they are in its resamples."""
    here = statistic.estimate(units.base)
    found = resamples(statistic, units, bootstrap)
    measured: list[Coefficient] = []
    for column, sample in enumerate(samples):
        bare = sample.coefficient(here.observed[column], here.expected[column], here.value[column])
        if bare.value is None or not bootstrap.replicates:
            measured.append(bare)
            continue
        if sample.never_agrees() and not found.posterior:
            measured.append(replace(bare, reason=_NEVER))
            continue
        drawn = drawn_interval(bare.value, found, column, units=sample.units(), level=bootstrap.level)
        measured.append(replace(bare, interval=drawn.interval, reason=drawn.reason, undefined=drawn.undefined))
    return measured, found
