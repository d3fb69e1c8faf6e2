"""What the likelihood needs of the credits: pairs with the same judges and the same total are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgeharness_integrations.ranking.arrays import Floats, Ints, Marks
from judgeharness_integrations.ranking.bradleyterry.newton import JointModel

__all__ = ["Patterns", "joint_model", "patterns_of"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Patterns:
    """Sufficient statistics of the Rasch model, over patterns (which judges were asked, and their total).

    `seen` (patterns, judges); `total` (patterns,) credits of a pair; `count` (patterns,) pairs of it; `of` (pairs,) the
    pattern of each pair; `wins` (judges,) credits of a judge.
    """

    seen: Marks
    total: Floats
    count: Floats
    of: Ints
    wins: Floats


def patterns_of(values: Floats) -> Patterns:
    """Return the patterns of credits (pairs, judges), NaN where a judge was not asked."""
    seen = ~np.isnan(values)
    given = np.where(seen, values, 0.0)
    total = given.sum(axis=1)
    marks = np.packbits(seen, axis=1)
    keys = np.concatenate([total[:, None].view(np.uint8).reshape(len(total), -1), marks], axis=1)
    rows = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1]))).ravel()
    _, first, of, count = np.unique(rows, return_index=True, return_inverse=True, return_counts=True)
    return Patterns(
        seen=seen[first],
        total=total[first],
        count=count.astype(np.float64),
        of=np.asarray(of, np.intp).ravel(),
        wins=given.sum(axis=0),
    )


def joint_model(patterns: Patterns) -> JointModel:
    """Return the joint model of these patterns: one layer, and nothing that shifts it."""
    return JointModel(
        seen=patterns.seen[None],
        shift=np.zeros(1),
        wins=patterns.wins,
        total=patterns.total,
        count=patterns.count,
        layer_wins=np.zeros(1),
    )
