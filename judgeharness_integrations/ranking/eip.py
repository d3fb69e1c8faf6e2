"""EIP: judges rank high by being right where right is rare, pairs by defeating judges that are seldom defeated.

Two probability vectors that each follow from the other, as in PageRank, with damping.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.ranking.arrays import Floats
from judgeharness_integrations.ranking.credits import Credits

__all__ = ["EipOptions", "EipScores", "eip"]

_MOST_ROUNDS = 100_000


@dataclass(frozen=True, kw_only=True)
class EipOptions:
    """`alpha`: damping; `tolerance`: L1 change of both vectors at which to stop; `low`, `high`: the range of scores.

    `all_equal`: the score of everybody where all are equal and nothing can be stretched over the range.

    Raises:
        UsageError: a value is out of range.

    """

    alpha: float = 0.85
    tolerance: float = 1e-10
    low: float = 0.0
    high: float = 1.0
    all_equal: float = 0.5

    def __post_init__(self) -> None:
        """Refuse values under which nothing converges."""
        if not 0 <= self.alpha < 1:
            raise UsageError(f"EIP's alpha must be at least 0 and below 1, not {self.alpha}.")
        if not self.tolerance > 0:
            raise UsageError(f"EIP's tolerance must be above 0, not {self.tolerance}.")
        if not all(map(math.isfinite, (self.low, self.high, self.all_equal))):
            raise UsageError("EIP's range and the score of equals must be finite numbers.")
        if not self.low < self.high:
            raise UsageError(f"EIP's range must rise, not go from {self.low} to {self.high}.")


@dataclass(frozen=True, kw_only=True, eq=False)
class EipScores:
    """`judges`, `pairs`: scores over the declared range, a pair's is its difficulty; `*_mass`: before that, sum 1."""

    judges: Floats
    pairs: Floats
    judges_mass: Floats
    pairs_mass: Floats
    options: EipOptions
    rounds: int


def eip(matrix: Credits, options: EipOptions | None = None) -> EipScores:
    """Score judges and pairs.

    Args:
        matrix: every judge asked about every pair, no pair unanimous.
        options: damping, tolerance and range.

    Raises:
        UsageError: a judge was not asked about a pair, a pair is unanimous, or the vectors do not settle.

    """
    options = options or EipOptions()
    if not matrix.complete:
        raise UsageError("EIP needs every judge on every pair: ask the missing ones, or rank by bradley-terry.")
    if not matrix.pairs or bool(matrix.unanimous.any()):
        raise UsageError("EIP needs pairs that are not unanimous: leave the others out.")
    right = matrix.values
    wrong = 1 - right
    to_judges = right / np.maximum(right.sum(axis=1, keepdims=True), 1)  # (pairs, judges)
    to_pairs = (wrong / np.maximum(wrong.sum(axis=0, keepdims=True), 1)).T  # (judges, pairs)
    pairs, judges = (np.full(size, 1 / size) for size in right.shape)
    for rounds in range(1, _MOST_ROUNDS + 1):
        new_pairs = _damped(to_pairs.T @ judges, options.alpha)
        new_judges = _damped(to_judges.T @ new_pairs, options.alpha)
        change = np.abs(new_pairs - pairs).sum() + np.abs(new_judges - judges).sum()
        pairs, judges = new_pairs, new_judges
        if change < options.tolerance:
            return EipScores(
                judges=_stretched(judges, options),
                pairs=_stretched(pairs, options),
                judges_mass=judges,
                pairs_mass=pairs,
                options=options,
                rounds=rounds,
            )
    raise UsageError(f"EIP did not settle to {options.tolerance} in {_MOST_ROUNDS} rounds: raise its tolerance.")


def _damped(flow: Floats, alpha: float) -> Floats:
    mass = alpha * flow + (1 - alpha) / len(flow)
    return np.asarray(mass / mass.sum(), np.float64)


def _stretched(mass: Floats, options: EipOptions) -> Floats:
    low, high = float(mass.min()), float(mass.max())
    if high - low <= options.tolerance:
        return np.full(len(mass), options.all_equal)
    return np.asarray(options.low + (options.high - options.low) * (mass - low) / (high - low), np.float64)
