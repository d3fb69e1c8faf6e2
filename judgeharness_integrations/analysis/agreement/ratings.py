"""Answers of raters about items as a grid of categories, their scale, and what a bootstrap draws of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import finite_number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .panel import Panel

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


Answers: TypeAlias = "NDArray[Any]"  # (raters, items): codes, -1 where missing; numbers, NaN where missing


@dataclass(frozen=True, kw_only=True, eq=False)
class Scale:
    """How a panel's answers become ratings.

    `places` (labels,) is where each label stands; None for numbers, which stand where they are, and for labels
    without an order. `declared` are all places of a declared scale, None where the categories are those that occur.
    """

    panel: Panel
    places: NDArray[np.float64] | None
    declared: tuple[float, ...] | None

    def answers(self, raters: Sequence[str]) -> Answers:
        """Return the answers of raters."""
        return self.panel.numbers_grid(raters) if self.panel.kind == "numbers" else self.panel.grid(raters)

    def ratings(self, answers: Answers) -> Ratings:
        """Return answers as ratings.

        Raises:
            UsageError: an answer is not on the declared scale.

        """
        clusters = self.panel.clusters
        if self.panel.kind == "numbers":
            return Ratings.of_numbers(answers, scale=self.declared, clusters=clusters)
        if self.places is None:
            return Ratings.of_labels(answers, clusters=clusters)
        used = np.unique(answers[answers >= 0])
        strange = [self.panel.labels[code] for code in used.tolist() if np.isnan(self.places[code])]
        if strange:
            raise UsageError(f"the label {strange[0]!r:.60} is missing from the declared order: name every label.")
        places = np.where(answers >= 0, self.places[answers], np.nan)
        return Ratings.of_numbers(places, scale=self.declared, clusters=clusters)


def scale_of(panel: Panel, *, weights: Weights = "none", order: Sequence[str] = ()) -> Scale:
    """Return the scale of a panel's answers.

    Args:
        panel: whose answers.
        weights: with others than `none`, labels need an order.
        order: every label, from one end of the scale to the other, or every number; numbers keep their distances.

    Raises:
        UsageError: weights without an order, or an order that is none.

    """
    if len(set(order)) < len(order):
        raise UsageError(f"the order names a label twice ({', '.join(order)}): name each once.")
    if panel.kind == "sets" and (weights != "none" or order):
        raise UsageError("sets of labels have no order: leave weights and order away, or read one label's 0/1 column.")
    declared = _numbers(order)
    if panel.kind == "numbers":
        if declared is None and order:
            raise UsageError(f"the answers are numbers, so the order is of numbers, not {', '.join(order)!r:.80}.")
        return Scale(panel=panel, places=None, declared=declared or None)
    if order:
        places = dict(zip(order, range(len(order)) if declared is None else declared, strict=True))
        found = [float(places.get(label, np.nan)) for label in panel.labels]
        return Scale(panel=panel, places=np.array(found), declared=tuple(map(float, places.values())))
    if weights == "none":
        return Scale(panel=panel, places=None, declared=None)
    read = _numbers(panel.labels)
    if read is None:
        raise UsageError(
            f"{weights} weights need the order of the labels: give it from one end to the other (--order)."
        )
    return Scale(panel=panel, places=np.array(read), declared=None)


def _numbers(labels: Sequence[str]) -> tuple[float, ...] | None:
    """Return texts as finite numbers; None where one is not."""
    read = [number for number in map(finite_number, labels) if number is not None]
    return tuple(read) if len(read) == len(labels) else None


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Consensus:
    """One answer an item.

    Attributes:
        rule: `majority` for labels and sets: the most frequent answer, however few gave it; `median` for numbers.
        answers: (items,) as the humans', missing where nobody answered or the most frequent answers are tied.
        ties: how many items were left out for that.

    """

    rule: str
    answers: Answers
    ties: int


def human_consensus(answers: Answers) -> Consensus:
    """Return the consensus of humans.

    Args:
        answers: (humans, items): codes, -1 where missing; or numbers, NaN where missing.

    """
    if answers.dtype.kind == "f":
        return Consensus(rule="median", answers=_median(answers), ties=0)
    item = np.broadcast_to(np.arange(answers.shape[1]), answers.shape)[answers >= 0]
    width = int(answers.max(initial=-1)) + 1
    said, times = np.unique(item * width + answers[answers >= 0], return_counts=True)
    about, code = np.divmod(said, max(width, 1))
    most, first = np.zeros(answers.shape[1], np.intp), np.full(answers.shape[1], -1, np.intp)
    np.maximum.at(most, about, times)
    winning = times == most[about]
    first[about[winning]] = code[winning]
    tied = np.bincount(about[winning], minlength=answers.shape[1]) > 1
    return Consensus(rule="majority", answers=np.where(tied, -1, first), ties=int(tied.sum()))


def _median(answers: Answers) -> Answers:
    """Return (items,) medians of present numbers."""
    ordered = np.sort(answers, axis=0)  # missing ones last
    present = (~np.isnan(answers)).sum(axis=0)
    item = np.arange(answers.shape[1])
    low, high = (
        ordered[np.maximum(present - 1, 0) // 2, item],
        ordered[np.minimum(present // 2, len(answers) - 1), item],
    )
    return np.where(present > 0, (low + high) / 2, np.nan)
