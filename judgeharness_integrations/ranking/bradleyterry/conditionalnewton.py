"""Newton's method on the conditional likelihood, for abilities and whatever else a design says about answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgeharness_integrations.ranking.arrays import Floats
from judgeharness_integrations.ranking.bradleyterry.gauge import gauge_of
from judgeharness_integrations.ranking.bradleyterry.patterns import Patterns
from judgeharness_integrations.ranking.bradleyterry.symmetric import conditional_moments

__all__ = ["SINGULAR", "ConditionalEstimate", "conditional_maximum"]

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
