"""Who is closer to the remaining annotators, a human or the candidate: accuracy, RMSE, a function.

Every score compares an answer with R, the answers of all other humans about the item, so a score over R is a total
over all humans minus the annotator's own part: one pass over the cells, not one over annotators x annotators x items.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from judgeharness_integrations._errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from judgeharness_integrations.agreement.alttest.ballots import Ballots, Replies

__all__ = ["Accuracy", "Closeness", "Distance", "Function", "Summed", "chunks", "signs_of_totals"]

_RELATIVE = 1e-9  # of the totals or of the item's spread: the order of a sum can neither make nor break a tie
_ROUNDING = 1e-14  # of the numbers themselves: .1 + .2 is .3
_DENSE = 20_000_000  # items x answers up to which counts are a plain table
_CHUNK = 2_000_000  # numbers held at once


class Closeness(ABC):
    """A score over ballots."""

    @cached_property
    def standing(self) -> NDArray[np.float64]:
        """(cells,) how close an answer is to the others about its item; comparable within an item alone."""
        return self._standings()

    @abstractmethod
    def _standings(self) -> NDArray[np.float64]: ...

    @abstractmethod
    def signs(self, replies: Replies, cells: NDArray[np.intp]) -> NDArray[np.int8]:
        """Return, for some cells, 1 where the candidate is closer to R than the human, -1 farther, 0 as close."""


class Summed(Closeness):
    """A score that is a mean of parts, one for each of R, which floating point rounds."""

    @abstractmethod
    def mean(self, first: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return (cells,) S of answers against R as it is published, both codes (cells, R), evaluated in that order."""


def chunks(cells: int, width: int) -> list[slice]:
    """Return slices of cells of `width` numbers each that fit into memory."""
    step = max(1, _CHUNK // max(1, width))
    return [slice(start, min(cells, start + step)) for start in range(0, cells, step)]


def signs_of_totals(candidate: NDArray[Any], human: NDArray[Any]) -> NDArray[np.int8]:
    """Return the sign of candidate - human: whole numbers exactly, others within a relative 1e-9."""
    difference = candidate - human
    if difference.dtype.kind == "f":
        difference[np.abs(difference) <= _RELATIVE * np.maximum(np.abs(candidate), np.abs(human))] = 0
    signs: NDArray[np.int8] = np.sign(difference).astype(np.int8)
    return signs


class Accuracy(Closeness):
    """S = share of R that equals the answer; sets are equal as a whole."""

    def __init__(self, ballots: Ballots) -> None:
        """Count who said the same about an item."""
        self._ballots = ballots
        self._width = len(ballots.words) + 1
        self._keys = ballots.item * self._width + ballots.codes
        self._dense = ballots.size * self._width <= _DENSE
        if self._dense:
            self._table = np.bincount(self._keys, minlength=ballots.size * self._width)
        else:
            self._known, self._table = np.unique(self._keys, return_counts=True)

    def _count(self, keys: NDArray[np.intp]) -> NDArray[np.intp]:
        if self._dense:
            return self._table[keys]
        places = np.minimum(np.searchsorted(self._known, keys), len(self._known) - 1)
        return np.where(self._known[places] == keys, self._table[places], 0)

    def _standings(self) -> NDArray[np.float64]:
        """Return (cells,) how many said the same."""
        return self._count(self._keys).astype(np.float64)

    def signs(self, replies: Replies, cells: NDArray[np.intp]) -> NDArray[np.int8]:
        """See `Closeness`; compares whole numbers."""
        item = self._ballots.item[cells]
        answer = replies.codes[item]
        candidate = self._count(item * self._width + answer) - (answer == self._ballots.codes[cells])
        return signs_of_totals(candidate, self._count(self._keys[cells]) - 1)


class Distance(Summed):
    """S = -sqrt(mean((answer - r)^2 over R)).

    Sums of squares are never formed: sum((f-r)^2) - sum((h-r)^2) = 2|R| (f-h) ((f+h)/2 - mean(R)), so f is closer iff
    mean(R) lies on its side of the midpoint. No digits cancel, and a tie is f = h or a midpoint at the mean.
    """

    def __init__(self, ballots: Ballots) -> None:
        """Centre the numbers of an item."""
        assert ballots.numbers is not None  # noqa: S101 - `scores_of` refused everything else
        self._ballots, numbers = ballots, ballots.numbers
        votes = np.maximum(ballots.votes, 1)
        self._centre = np.bincount(ballots.item, weights=numbers, minlength=ballots.size) / votes
        self._off = numbers - self._centre[ballots.item]
        self._sum = np.bincount(ballots.item, weights=self._off, minlength=ballots.size)  # zero but for rounding
        self._spread = np.zeros(ballots.size)
        self._largest = np.zeros(ballots.size)
        np.maximum.at(self._spread, ballots.item, np.abs(self._off))
        np.maximum.at(self._largest, ballots.item, np.abs(numbers))

    def _standings(self) -> NDArray[np.float64]:
        """Return (cells,) minus the distance from the mean: within an item it orders as the RMSE does."""
        return np.asarray(-np.abs(self._off), np.float64)

    def signs(self, replies: Replies, cells: NDArray[np.intp]) -> NDArray[np.int8]:
        """See `Closeness`."""
        assert replies.numbers is not None  # noqa: S101 - a panel is of one kind
        item = self._ballots.item[cells]
        answer, human = replies.numbers[item] - self._centre[item], self._off[cells]
        others = (self._sum[item] - human) / (self._ballots.votes[item] - 1)
        ahead, beyond = answer - human, (answer + human) / 2 - others
        size = np.maximum(self._largest[item], np.abs(replies.numbers[item]))
        slack = _RELATIVE * np.maximum(self._spread[item], np.abs(answer)) + _ROUNDING * size
        tied = (np.abs(ahead) <= slack) | (np.abs(beyond) <= slack)
        return np.where(tied, 0, -np.sign(ahead) * np.sign(beyond)).astype(np.int8)

    def mean(self, first: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.float64]:
        """See `Summed`."""
        numbers = np.asarray(self._ballots.words, np.float64)
        root: NDArray[np.float64] = -np.sqrt(((numbers[first] - numbers[others]) ** 2).mean(axis=1))
        return root


class Function(Closeness):
    """S = a function (prediction, annotations) -> number; it is called once a cell and once more for the candidate."""

    def __init__(self, ballots: Ballots, score: Callable[[Any, Sequence[Any]], float]) -> None:
        """Keep the function."""
        self._ballots, self._score = ballots, score
        self._starts = np.cumsum(ballots.votes) - ballots.votes

    def _value(self, prediction: int, cell: int) -> float:
        """Return the score against R of a cell, in the order of names."""
        ballots, item = self._ballots, self._ballots.item[cell]
        start = self._starts[item]
        there = ballots.by_name[0][start : start + ballots.votes[item]]
        words = ballots.words
        rest = [words[code] for code in ballots.codes[there[there != cell]].tolist()]
        value = self._score(words[prediction], rest)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            name = getattr(self._score, "__name__", "score")
            raise UsageError(f"score {name!r} returned {value!r:.40} for {words[prediction]!r:.40}: return a number.")
        return number

    def _standings(self) -> NDArray[np.float64]:
        """Return (cells,) the score of each human against the others; 0 where there is none."""
        ballots = self._ballots
        shared = (ballots.votes[ballots.item] > 1).tolist()
        codes = ballots.codes.tolist()
        return np.array([self._value(codes[cell], cell) if shared[cell] else 0.0 for cell in range(len(codes))])

    def signs(self, replies: Replies, cells: NDArray[np.intp]) -> NDArray[np.int8]:
        """See `Closeness`; what the function returns is compared as it is."""
        answer = replies.codes[self._ballots.item[cells]]
        asked = zip(answer.tolist(), cells.tolist(), strict=True)
        candidate = np.array([self._value(*one) for one in asked], np.float64)
        same = answer == self._ballots.codes[cells]
        return np.where(same, 0, np.sign(candidate - self.standing[cells])).astype(np.int8)
