"""Cluster-robust errors: V = I+ B I+, with pairs solved out of the information I (Schur complement).

At the maximum the residuals of a pair sum to 0, so the score of a cluster of pairs has no part at the pairs and B is
R'R of the judges' residuals alone. No correction for few clusters, as published.
"""

from __future__ import annotations

import numpy as np

from judgeharness_integrations.ranking.arrays import Floats, Ints
from judgeharness_integrations.statistics.clusters import cluster_sums

__all__ = ["by_cluster", "influences", "published_errors"]


def by_cluster(residuals: Floats, clusters: Ints | None) -> Floats:
    """Return residuals (pairs, k) summed by cluster, (clusters, k); each pair is one when None."""
    if clusters is None:
        return residuals
    return cluster_sums(residuals, clusters)


def influences(schur: Floats, residuals: Floats) -> Floats:
    """Return (clusters, judges): how far each cluster moves the abilities, whose mean is 0."""
    return np.asarray(np.linalg.solve(schur + 1.0 / len(schur), residuals.T).T, np.float64)


def published_errors(moved: Floats, cross: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Return the standard errors (logits) of judges and of patterns of pairs, in the gauge of the pseudo-inverse.

    That gauge holds the mean over all players, judges and pairs, at 0.

    Args:
        moved: (clusters, judges), `influences`.
        cross: (patterns, judges), how far a pair's difficulty follows each ability.
        count: (patterns,) pairs of each.

    """
    players = moved.shape[1] + float(count.sum())
    mean = (moved.sum(axis=1) + moved @ (cross.T @ count)) / players
    judges = np.sqrt(np.square(moved - mean[:, None]).sum(axis=0))
    meat = moved.T @ moved
    drag = moved.T @ mean
    spread = np.einsum("pj,jk,pk->p", cross, meat, cross, optimize=True) - 2 * cross @ drag + float(mean @ mean)
    return judges, np.sqrt(np.maximum(spread, 0.0))
