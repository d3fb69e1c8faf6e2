"""Proper scores of probabilities, Brier's and the logarithmic one, and the skill they show over the base rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from scipy.special import xlogy

from judgeharness_integrations.analysis.probability.distributions import FLOOR
from judgeharness_integrations.analysis.probability.forecasts import Floats, Forecasts
from judgeharness_integrations.analysis.statistics.clusters import clustered_error
from judgeharness_integrations.analysis.statistics.means import Estimate, estimate
from judgeharness_integrations.analysis.statistics.proportions import unchanged_bound

_ROUNDING: Final = 1e-12
_WORST_BRIER: Final = 1.0
_WORST_LOG: Final = -math.log(FLOOR)


def brier_scores(probabilities: Floats, labels: Floats) -> Floats:
    """Return Brier's score of each answer (n,), from 0 to 1, less being better (Brier 1950, Mon Weather Rev 78:1).

    Half the sum over the options of (p - y)^2, which of two options is the square of either. A soft label counts as
    the people behind it one by one: the mean of the scores against each of their labels.

    Args:
        probabilities: (n, options), or one row that stands for all.
        labels: (n, options).

    """
    scores: Floats = (probabilities * (probabilities - 2 * labels)).sum(axis=-1) / 2 + labels.sum(axis=-1) / 2
    return np.maximum(scores, 0.0)


def log_scores(probabilities: Floats, labels: Floats) -> Floats:
    """Return the logarithmic score of each answer (n,) in nats, less being better (Good 1952, J R Stat Soc B 14:107).

    -log p of the label, with p not below `FLOOR`; of a soft label the mean over the people behind it.

    Args:
        probabilities: (n, options), or one row that stands for all.
        labels: (n, options).

    """
    raised = np.maximum(probabilities, FLOOR)
    scores: Floats = -xlogy(labels, raised / raised.sum(axis=-1, keepdims=True)).sum(axis=-1)
    return scores


def brier_skill(found: Forecasts) -> Estimate | None:
    """Return which share of the base rate's Brier score the answers save; see `skill`."""
    return skill(found, brier_scores, worst=_WORST_BRIER)


def log_skill(found: Forecasts) -> Estimate | None:
    """Return which share of the base rate's logarithmic score the answers save; see `skill`."""
    return skill(found, log_scores, worst=_WORST_LOG)


def skill(found: Forecasts, score: Callable[[Floats, Floats], Floats], *, worst: float) -> Estimate | None:
    """Return 1 - mean score / mean score of the base rate with its interval; None where one option is right in all.

    1 is perfect, 0 as good as the base rate of these very labels, which no constant beats. The interval is that of a
    ratio (linearised, clustered, Student's t). Answers that are all equally good show no spread: there it reaches as
    far as it would if as many more were as bad as can be as so few clusters cannot rule out.

    Args:
        found: answers and labels.
        score: of probabilities and labels, (n,), less being better.
        worst: the largest score there is.

    """
    if found.base_rates.max() >= 1 - _ROUNDING:
        return None
    scores, reference = score(found.probabilities, found.labels), score(found.base_rates, found.labels)
    base = float(reference.mean())
    ratio = float(scores.mean()) / base
    influence = ((ratio * reference - scores) / base).tolist()
    value, count = 1 - ratio, len(set(found.clusters))
    if count > 1 and clustered_error(influence, found.clusters) is None:
        unseen = unchanged_bound(count) * worst / base
        return Estimate(value=value, low=value - unseen, high=min(1.0, value + unseen), n=found.n)
    return estimate(value, influence, found.clusters)
