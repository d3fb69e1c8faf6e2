"""What repetitions buy a single decision: how often the majority of a few samples is not that of very many."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from judgeharness_integrations.planning.components import Components
from judgeharness_integrations.planning.decisions import chances_of_cases

__all__ = ["MajorityRisk", "majority_risk"]

_POINTS: Final = 2000
_HALF: Final = 0.5


@dataclass(frozen=True, kw_only=True)
class MajorityRisk:
    """With `samples` a case, the share of cases whose majority differs from the long-run one, and that are tied.

    `differs` does not hold the tied ones; counted as half they make 2 N samples as good as 2 N - 1.
    """

    samples: int
    differs: float
    tied: float


def majority_risk(mean: float, components: Components, samples: int) -> MajorityRisk:
    """Return how often a majority of samples is not what the judge would decide in the long run.

    The number of positive samples of a case is binomial; its rate varies over cases as a beta distribution with the
    pilot's mean and its share of variance between cases (beta-binomial, by moments), so that a few unanimous samples
    are not taken for certainty. Samples count as independent: under one perturbation they are less than that.

    Args:
        mean: share of positive samples.
        components: of the 0/1 indicator.
        samples: a case.

    """
    rates = _rates(mean, components)
    positive = rates > _HALF
    most = math.ceil(samples / 2) - 1  # the most positive samples that still lose
    lost = np.where(positive, bdtr(most, samples, rates), bdtr(most, samples, 1 - rates))
    tied = 0.0
    if samples % 2 == 0:
        tied = float(np.mean(bdtr(most + 1, samples, rates) - bdtr(most, samples, rates)))
    return MajorityRisk(samples=samples, differs=float(np.mean(lost)), tied=tied)


def _rates(mean: float, components: Components) -> NDArray[np.float64]:
    """Return equally likely rates of cases: the quantiles of the beta distribution."""
    inside = components.inside
    if not inside or not 0 < mean < 1:  # every case always says the same
        return np.array([0.0, 1.0])
    if not components.cases:
        return np.array([mean])
    between = np.array([components.cases / (components.cases + inside)])
    rates: NDArray[np.float64] = chances_of_cases(np.array([mean]), between, _POINTS)[0]
    return rates
