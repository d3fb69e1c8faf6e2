"""Bradley-Terry by joint maximum likelihood, as published: judges play pairs, a right answer is a win."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.ranking.arrays import Floats, Ints
from judgeharness_integrations.ranking.bradleyterry.newton import maximise
from judgeharness_integrations.ranking.bradleyterry.patterns import joint_model, patterns_of
from judgeharness_integrations.ranking.bradleyterry.sandwich import by_cluster, influences, published_errors
from judgeharness_integrations.ranking.bradleyterry.scale import ELO_MEAN, ELO_POINTS, published_elo
from judgeharness_integrations.ranking.credits import Credits

__all__ = ["JointFit", "fit_joint"]


@dataclass(frozen=True, kw_only=True, eq=False)
class JointFit:
    """Elo of judges and pairs; a pair's is its difficulty.

    `elo` and `covariance` (judges, judges, Elo squared) hold the judges' mean at 1500, and `difficulty` (pairs,) is on
    their scale. `elo_published`, `se_published` and `difficulty_published` keep the gauges of the paper: Elo with mean
    strength 1 over all players, errors with the mean over all players at 0. `log_strengths` (judges + pairs,) sum to 0.
    `pattern` (pairs,) numbers pairs that are alike: their difficulty is the same.
    """

    judges: tuple[str, ...]
    pairs: tuple[str, ...]
    elo: Floats
    covariance: Floats
    difficulty: Floats
    elo_published: Floats
    se_published: Floats
    difficulty_published: Floats
    difficulty_se_published: Floats
    log_strengths: Floats
    pattern: Ints
    log_likelihood: float
    steps: int

    @property
    def se(self) -> Floats:
        """(judges,) standard errors of `elo`, in Elo."""
        return np.sqrt(np.diag(self.covariance))


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
    residuals = np.where(matrix.seen, matrix.values - found.expected[0][patterns.of], 0.0)
    moved = influences(found.schur, by_cluster(residuals, clusters))
    se_published, se_pairs = published_errors(moved, found.cross, patterns.count)
    strengths = np.concatenate([found.ability, -found.easiness[patterns.of]])
    elo = published_elo(strengths)
    judges = len(matrix.judges)
    return JointFit(
        judges=matrix.judges,
        pairs=matrix.pairs,
        elo=ELO_MEAN + ELO_POINTS * found.ability,
        covariance=ELO_POINTS**2 * (moved.T @ moved),
        difficulty=ELO_MEAN - ELO_POINTS * found.easiness[patterns.of],
        elo_published=elo[:judges],
        se_published=ELO_POINTS * se_published,
        difficulty_published=elo[judges:],
        difficulty_se_published=ELO_POINTS * se_pairs[patterns.of],
        log_strengths=strengths - strengths.mean(),
        pattern=patterns.of,
        log_likelihood=found.log_likelihood,
        steps=found.steps,
    )
