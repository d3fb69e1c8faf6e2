"""Answers of raters about items as a grid of categories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from judgeharness_integrations._errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["MOST_CATEGORIES", "NO_ITEMS", "Ratings", "Weights", "agreement_weights", "pairable"]

Weights: TypeAlias = Literal["none", "linear", "quadratic"]
NO_ITEMS = "no item was answered by two of them"
MOST_CATEGORIES = 256  # above it, numbers are no scale of categories and a table of them would not fit
_GRID = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratings:
    """Who put which item into which category.

    Attributes:
        codes: (raters, items) whole numbers below `categories`, -1 where an answer is missing.
        categories: how many categories there are.
        values: (categories,) where each stands on its scale, ascending; None: where its code says.
        clusters: (items,) whole numbers, equal where items belong together; None when each is on its own.

    """

    codes: NDArray[np.intp]
    categories: int
    values: NDArray[np.float64] | None = None
    clusters: NDArray[np.intp] | None = None

    @classmethod
    def of_labels(cls, grid: ArrayLike, *, categories: int | None = None, clusters: ArrayLike | None = None) -> Ratings:
        """Return the ratings of label codes.

        Args:
            grid: (raters, items) whole numbers, -1 where an answer is missing.
            categories: how many labels were declared, coded 0, 1, ...; None: those that occur.
            clusters: (items,) codes.

        Raises:
            UsageError: the grid is none, or holds a code that was not declared.

        """
        codes = _grid(grid).astype(np.intp)
        if categories is None:
            kept, inverse = np.unique(codes, return_inverse=True)
            missing = int((kept < 0).sum())
            codes = np.maximum(inverse.reshape(codes.shape) - missing, -1)
            categories = len(kept) - missing
        if codes.size and codes.max() >= categories:
            raise UsageError(f"code {codes.max()} is beyond the {categories} declared labels: declare more.")
        return cls(codes=np.maximum(codes, -1), categories=categories, clusters=_codes(clusters))

    @classmethod
    def of_numbers(
        cls, grid: ArrayLike, *, scale: Sequence[float] | None = None, clusters: ArrayLike | None = None
    ) -> Ratings:
        """Return the ratings of numbers.

        Args:
            grid: (raters, items) numbers, NaN where an answer is missing.
            scale: all values of the scale; None: those that occur.
            clusters: (items,) codes.

        Raises:
            UsageError: the grid is none, or holds a number that is not on the scale.

        """
        numbers = _grid(grid).astype(np.float64)
        present = ~np.isnan(numbers)
        values = np.unique(numbers[present]) if scale is None else np.unique(np.asarray(scale, np.float64))
        if strange := np.setdiff1d(numbers[present], values).tolist():
            raise UsageError(f"{strange[0]:g} is not on the declared scale: declare every value.")
        codes = np.full(numbers.shape, -1, np.intp)
        codes[present] = np.searchsorted(values, numbers[present])
        return cls(codes=codes, categories=len(values), values=values, clusters=_codes(clusters))

    @property
    def raters(self) -> int:
        """How many raters there are."""
        return len(self.codes)

    @cached_property
    def answers(self) -> NDArray[np.intp]:
        """(items,) how many raters answered about each."""
        answers: NDArray[np.intp] = (self.codes >= 0).sum(axis=0)
        return answers

    def counts(self) -> NDArray[np.float64]:
        """Return (items, categories): how many raters put each item into each category."""
        items = self.codes.shape[1]
        place = np.arange(items) * self.categories + self.codes
        flat = np.bincount(place[self.codes >= 0], minlength=items * self.categories)
        return flat.reshape(items, self.categories).astype(np.float64)

    def centred(self) -> NDArray[np.float64]:
        """Return `values` moved and stretched to a width of 1 around 0, so that sums of squares stay exact."""
        values = np.arange(self.categories, dtype=np.float64) if self.values is None else self.values
        width = float(values[-1] - values[0]) if len(values) else 0.0
        return (values - values.mean()) / width if width else np.zeros(len(values))


def _grid(grid: ArrayLike) -> NDArray[np.float64 | np.intp]:
    found = np.asarray(grid)
    if found.ndim != _GRID:
        raise UsageError(f"ratings are a grid of raters x items, not an array of {found.ndim} dimensions.")
    return found


def _codes(clusters: ArrayLike | None) -> NDArray[np.intp] | None:
    return None if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1].reshape(-1)


def agreement_weights(ratings: Ratings, weights: Weights) -> NDArray[np.float64]:
    """Return (categories, categories): how far two answers count as agreement, 1 for the same, 0 for the extremes.

    `linear` falls with the distance on the scale, `quadratic` with its square (Cohen 1968; Gwet 2014, section 3.5).
    """
    if weights == "none":
        return np.eye(ratings.categories)
    place = ratings.centred()
    distance = np.abs(place[:, None] - place[None, :])
    return 1.0 - (distance if weights == "linear" else distance**2)


def pairable(ratings: Ratings) -> NDArray[np.float64]:
    """Return (items,) what an answer about each weighs: 1 / (answers - 1), 0 where nobody else answered."""
    answers = ratings.answers.astype(np.float64)
    return np.where(answers > 1, 1 / np.maximum(answers - 1, 1), 0.0)
