"""Krippendorff's alpha of metric ordinal, whose distances change with every resample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from judgeharness_integrations.agreement.kappa.ratings import pairable
from judgeharness_integrations.agreement.kappa.statistic import Estimates, Floats, beyond_chance

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.kappa.ratings import Ratings
    from judgeharness_integrations.agreement.kappa.units import Units

__all__ = ["OrdinalAlpha"]

_AT_ONCE = 4_000_000  # numbers in one block of ranks
_TOO_MANY = 4_000  # units; above it the skewness of one in so many changes no interval


@dataclass(frozen=True, kw_only=True, eq=False)
class OrdinalAlpha:
    """Alpha of metric ordinal: alpha of metric interval on the mean ranks of the answers.

    The distance of two categories, half of both and all answers between, is the distance of their mean ranks.
    `counts` is (items, categories) over items with two answers or more, `largest` its longer side, `weight` (items,)
    1 / (answers - 1).
    """

    counts: csr_array
    largest: int
    weight: Floats
    units: Units

    @property
    def coefficients(self) -> int:
        """How many coefficients it gives at once."""
        return 1

    @classmethod
    def of_ratings(cls, ratings: Ratings, units: Units) -> OrdinalAlpha:
        """Return the statistic of ratings."""
        weight = pairable(ratings)
        used = (ratings.codes >= 0) & (weight > 0)
        item = np.nonzero(used)[1]
        shape = (ratings.codes.shape[1], ratings.categories)
        counts = csr_array((np.ones(len(item)), (item, ratings.codes[used])), shape=shape)
        return cls(counts=counts, largest=max(1, *shape), weight=weight, units=units)

    def estimate(self, weights: Floats) -> Estimates:
        """Return (..., 1) from weights (..., units)."""
        drawn = self.units.spread(np.atleast_2d(weights))
        block = max(1, _AT_ONCE // self.largest)
        parts = [self._block(drawn[start : start + block]) for start in range(0, len(drawn), block)]
        shape = (*weights.shape[:-1], 1)
        return Estimates(*(np.concatenate(part).reshape(shape) for part in zip(*parts, strict=True)))

    def leave_one_out(self, base: Floats) -> Floats | None:
        """Return (units, 1) without one of each unit; None for thousands of them."""
        return None if len(base) > _TOO_MANY else self.estimate(base - np.eye(len(base))).value

    def _block(self, drawn: Floats) -> Estimates:
        """Return (block,) from item weights (block, items)."""
        used = (self.counts.T @ drawn.T).T
        answers = used.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            # ranks as shares of all answers, around 0
            ranks = (np.cumsum(used, axis=1) - used / 2) / answers[:, None] - 0.5
            reach = (ranks[:, -1] - ranks[:, 0]) ** 2 * answers**2
        within, total = (drawn * self.weight), (self.counts @ ranks.T).T
        squares = (self.counts @ (ranks**2).T).T
        apart = 2 * (within * (self._answers * squares - total**2)).sum(axis=1)
        by_chance = 2 * (answers * (used * ranks**2).sum(axis=1) - (used * ranks).sum(axis=1) ** 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return beyond_chance(1 - apart * (answers - 1) / reach, 1 - by_chance / reach)

    @property
    def _answers(self) -> Floats:
        return np.asarray(self.counts.sum(axis=1), np.float64)
