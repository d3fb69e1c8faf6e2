"""What a bootstrap draws: items, or clusters of items that belong together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from judgeharness_integrations.agreement.kappa.ratings import Ratings

__all__ = ["Units"]

_AT_ONCE = 4_000_000  # numbers in one block of weights
_IN_CACHE = 50_000  # numbers counted at once: memory that is far away would be most of the time


@dataclass(frozen=True, kw_only=True, eq=False)
class Units:
    """The units of resampling.

    Items on their own with the same answers are one unit that stands in the sample several times: drawing how often
    it is drawn is the same bootstrap and far less work.

    Attributes:
        of: (items,) the unit of each item.
        base: (units,) how often each stands in the sample; 0 for items of a prior.
        prior: (units,) how many units each is worth beyond that; None: units are drawn with replacement.
        size: items of the sample in a unit that is drawn once, on average: an item of the prior weighs as much.
        split: (units,) items of the prior whose raters disagree; None without a prior.

    """

    of: NDArray[np.intp]
    base: NDArray[np.float64]
    prior: NDArray[np.float64] | None = None
    size: float = 1.0
    split: NDArray[np.bool_] | None = None

    @classmethod
    def of_ratings(cls, ratings: Ratings) -> Units:
        """Return the clusters of ratings, or their items."""
        if ratings.clusters is not None:
            return cls(of=ratings.clusters, base=np.ones(int(ratings.clusters.max(initial=-1)) + 1))
        columns = np.ascontiguousarray(ratings.codes.T)
        kept, inverse, counts = np.unique(columns, axis=0, return_inverse=True, return_counts=True)
        if 2 * len(kept) > len(columns):
            return cls(of=np.arange(len(columns)), base=np.ones(len(columns)))
        return cls(of=inverse.reshape(-1), base=counts.astype(np.float64))

    @property
    def drawn(self) -> int:
        """How many units one resample draws."""
        return int(self.base.sum())

    def gather(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (units, ...): the sums of (items, ...) rows over a unit that is drawn once."""
        flat = rows.reshape(len(rows), -1)
        sums = np.zeros((len(self.base), flat.shape[1]))
        np.add.at(sums, self.of, flat)
        once: NDArray[np.float64] = sums / np.maximum(self.base, 1.0)[:, None]
        return once.reshape(-1, *rows.shape[1:])

    def spread(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (..., items) from (..., units): how much each item counts."""
        each: NDArray[np.float64] = (weights / np.maximum(self.base, 1.0))[..., self.of]
        return each

    def draws(self, replicates: int, seed: int) -> Iterator[NDArray[np.float64]]:
        """Yield blocks (some replicates, units): how often each unit is drawn. The same seed draws the same.

        With a prior they are weights from the posterior instead, which sum to the units of the sample: gamma of how
        often each stands in sample and prior (the Bayesian bootstrap, Rubin 1981).
        """
        generator = np.random.default_rng(seed)
        units, drawn = len(self.base), self.drawn
        block = max(1, _AT_ONCE // max(1, units))
        for start in range(0, replicates, block):
            size = min(block, replicates - start)
            if self.prior is not None:
                weights = generator.standard_gamma(self.base + self.prior, size=(size, units))
                weights *= drawn / weights.sum(axis=1, keepdims=True)
                weights[:, self.base == 0] *= self.size
                yield weights
                continue
            if drawn > units:
                yield generator.multinomial(drawn, self.base / drawn, size=size).astype(np.float64)
                continue
            drawn_often = np.empty((size, units))
            some = max(1, _IN_CACHE // units)
            for row in range(0, size, some):
                rows = min(some, size - row)
                picked = generator.integers(0, units, (rows, units)) + np.arange(rows)[:, None] * units
                counts = np.bincount(picked.ravel(), minlength=rows * units)
                drawn_often[row : row + rows] = counts.reshape(rows, units)
            yield drawn_often
