"""Bradley-Terry by joint maximum likelihood, as published: judges play pairs, a right answer is a win."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.ranking.arrays import Floats, Ints
from judgeharness_integrations.ranking.bradleyterry.newton import JointEstimate, maximise
from judgeharness_integrations.ranking.bradleyterry.patterns import Patterns, joint_model, patterns_of
from judgeharness_integrations.ranking.bradleyterry.sandwich import by_cluster, influences, published_errors
from judgeharness_integrations.ranking.bradleyterry.scale import ELO_MEAN, ELO_POINTS, published_elo
from judgeharness_integrations.ranking.credits import Credits

__all__ = ["JointFit", "fit_joint"]


@dataclass(frozen=True, kw_only=True, eq=False)
class JointFit:
    """Elo of judges and pairs; a pair's is its difficulty. Errors are worked out when they are asked for.

    `elo` and `covariance` (judges, judges, Elo squared) hold the judges' mean at 1500, and `difficulty` (pairs,) is on
    their scale. `elo_published`, `se_published` and `difficulty_published` keep the gauges of the paper: Elo with mean
    strength 1 over all players, errors with the mean over all players at 0. `log_strengths` (judges + pairs,) sum to 0.
    `pattern` (pairs,) numbers pairs that are alike: their difficulty is the same.
    """

    matrix: Credits
    patterns: Patterns
    estimate: JointEstimate
    clusters: Ints | None

    @property
    def judges(self) -> tuple[str, ...]:
        """Names of the judges."""
        return self.matrix.judges

    @property
    def pairs(self) -> tuple[str, ...]:
        """Names of the pairs."""
        return self.matrix.pairs

    @property
    def pattern(self) -> Ints:
        """(pairs,) number of what each pair is like."""
        return self.patterns.of

    @property
    def log_likelihood(self) -> float:
        """At the maximum."""
        return self.estimate.log_likelihood

    @property
    def steps(self) -> int:
        """How many Newton took."""
        return self.estimate.steps

    @property
    def elo(self) -> Floats:
        """(judges,) in Elo, mean 1500."""
        return ELO_MEAN + ELO_POINTS * self.estimate.ability

    @property
    def difficulty(self) -> Floats:
        """(pairs,) in Elo, on the scale of `elo`."""
        return ELO_MEAN - ELO_POINTS * self.estimate.easiness[self.pattern]

    @property
    def log_strengths(self) -> Floats:
        """(judges + pairs,) in logits, sum 0."""
        return np.asarray(self._strengths - self._strengths.mean(), np.float64)

    @property
    def elo_published(self) -> Floats:
        """(judges,) in Elo, mean strength of all players 1."""
        return published_elo(self._strengths)[: len(self.judges)]

    @property
    def difficulty_published(self) -> Floats:
        """(pairs,) in Elo, mean strength of all players 1."""
        return published_elo(self._strengths)[len(self.judges) :]

    @cached_property
    def covariance(self) -> Floats:
        """(judges, judges) of `elo`, in Elo squared."""
        return np.asarray(ELO_POINTS**2 * (self._moved.T @ self._moved), np.float64)

    @property
    def se(self) -> Floats:
        """(judges,) standard errors of `elo`, in Elo."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def se_published(self) -> Floats:
        """(judges,) standard errors of `elo_published`, in Elo."""
        return ELO_POINTS * self._published[0]

    @property
    def difficulty_se_published(self) -> Floats:
        """(pairs,) standard errors of `difficulty_published`, in Elo."""
        return ELO_POINTS * self._published[1][self.pattern]

    @property
    def _strengths(self) -> Floats:
        return np.concatenate([self.estimate.ability, -self.estimate.easiness[self.pattern]])

    @cached_property
    def _moved(self) -> Floats:
        matrix = self.matrix
        residuals = np.where(matrix.seen, matrix.values - self.estimate.expected[0][self.pattern], 0.0)
        return influences(self.estimate.schur, by_cluster(residuals, self.clusters))

    @cached_property
    def _published(self) -> tuple[Floats, Floats]:
        return published_errors(self._moved, self.estimate.cross, self.patterns.count)


def fit_joint(matrix: Credits, *, clusters: Ints | None = None) -> JointFit:
    """Fit Bradley-Terry to credits without unanimous pairs.

    Any missing cells, any fractions. Newton's method with pairs solved out reaches the maximum to 1e-9 logits; errors
    are cluster-robust (Huber-White), by pair unless told otherwise.

    Args:
        matrix: pairs x judges; connected (see `connections_of`) and without unanimous pairs.
        clusters: (pairs,) 0-based number of each pair's cluster.

    Raises:
        UsageError: there is no finite maximum.

    """
    patterns = patterns_of(matrix.values)
    found = maximise(joint_model(patterns))
    if found is None:
        raise UsageError(
            "Bradley-Terry has no finite maximum here: leave out unanimous pairs and judges that are never wrong or "
            "never right."
        )
    return JointFit(matrix=matrix, patterns=patterns, estimate=found, clusters=clusters)
