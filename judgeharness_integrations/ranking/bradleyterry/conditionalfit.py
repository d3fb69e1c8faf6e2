"""Conditional maximum likelihood: pairs are conditioned away, and ratings are essentially unbiased.

The Rasch model given how many judges were right on each pair (Andersen 1970). Joint estimation inflates ratings by
about J / (J - 1) at J judges, since every pair brings a parameter of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.ranking.arrays import Floats, Ints
from judgeharness_integrations.ranking.bradleyterry.conditionalnewton import ConditionalEstimate, conditional_maximum
from judgeharness_integrations.ranking.bradleyterry.newton import maximise
from judgeharness_integrations.ranking.bradleyterry.patterns import Patterns, joint_model, patterns_of
from judgeharness_integrations.ranking.bradleyterry.sandwich import by_cluster
from judgeharness_integrations.ranking.bradleyterry.scale import ELO_MEAN, ELO_POINTS
from judgeharness_integrations.ranking.credits import Credits

__all__ = ["ConditionalFit", "fit_conditional"]

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
