"""Who answered what, and who is closer to the other annotators, a human or the candidate.

Who is closer to the remaining annotators, a human or the candidate: accuracy, RMSE, a function. Every score compares
an answer with R, the answers of all other humans about the item, so a score over R is a total over all humans minus
the annotator's own part: one pass over the cells, not one over annotators x annotators x items.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from judgeharness_integrations._errors import UnknownNameError, UsageError

from .panel import Kind, Panel

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


_TABLE = 2000  # distinct sets up to which their similarities are computed once for all
_PAIRS = 1_000_000  # pairs of sets held at once


class Jaccard(Summed):
    """S = mean of |a and b| / |a or b| over R; two empty sets are equal (1).

    Per item only its distinct sets are paired, so the cost is at most the number of pairs of cells of one item.
    """

    def __init__(self, ballots: Ballots) -> None:
        """Find the distinct sets of each item."""
        assert ballots.marks is not None  # noqa: S101 - `scores_of` refused everything else
        self._ballots = ballots
        self._marks = ballots.marks
        self._sizes = self._marks.sum(axis=1)
        keys = ballots.item * len(self._marks) + ballots.codes
        known, self._entry, self._count = np.unique(keys, return_inverse=True, return_counts=True)
        self._item, self._code = np.divmod(known, len(self._marks)) if len(self._marks) else (known, known)
        self._entry = self._entry.reshape(-1)

    def _of_counts(self, both: NDArray[np.float64], first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray:  # type: ignore[type-arg]
        """Return the similarity of sets of sizes `first` and `second` with `both` labels in common."""
        return _ratio(both, first + second - both)

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        marks = self._marks.astype(np.float64)
        return self._of_counts(marks @ marks.T, self._sizes[:, None], self._sizes[None, :])

    def _similarity(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the similarity of sets, pair by pair of their codes."""
        if len(self._marks) <= _TABLE:
            return self._table[first, second]
        found = np.empty(len(first))
        for part in chunks(len(first), self._marks.shape[1]):
            one, other = first[part], second[part]
            both = (self._marks[one] & self._marks[other]).sum(axis=1).astype(np.float64)
            found[part] = self._of_counts(both, self._sizes[one], self._sizes[other])
        return found

    def _standings(self) -> NDArray[np.float64]:
        """Return (cells,) total similarity to the answers of all humans, its own (1) included."""
        sizes = np.bincount(self._item, minlength=self._ballots.size)
        starts = np.cumsum(sizes) - sizes
        partners = sizes[self._item]
        totals = np.empty(len(self._item))
        for low, high in _runs(partners):
            entries = np.repeat(np.arange(low, high), partners[low:high])
            ends = np.cumsum(partners[low:high])
            within = np.arange(len(entries)) - np.repeat(ends - partners[low:high], partners[low:high])
            others = starts[self._item[entries]] + within
            weighted = self._similarity(self._code[entries], self._code[others]) * self._count[others]
            totals[low:high] = np.bincount(entries - low, weights=weighted, minlength=high - low)
        return totals[self._entry]

    def signs(self, replies: Replies, cells: NDArray[np.intp]) -> NDArray[np.int8]:
        """See `Closeness`."""
        answered = np.flatnonzero(replies.given[self._item])
        weighted = np.zeros(len(self._item))
        answer = replies.codes[self._item[answered]]
        weighted[answered] = self._similarity(answer, self._code[answered]) * self._count[answered]
        totals = np.bincount(self._item, weights=weighted, minlength=self._ballots.size)
        item = self._ballots.item[cells]
        own = self._similarity(replies.codes[item], self._ballots.codes[cells])
        return signs_of_totals(totals[item] - own, self.standing[cells] - 1)

    def mean(self, first: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.float64]:
        """See `Summed`."""
        mean: NDArray[np.float64] = self._similarity(first.ravel(), others.ravel()).reshape(others.shape).mean(axis=1)
        return mean


class MacroJaccard(Jaccard):
    """S = mean over R of the mean of two Jaccards, of the marked and of the unmarked labels (as published)."""

    def _of_counts(self, both: NDArray[np.float64], first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray:  # type: ignore[type-arg]
        either = first + second - both
        width = self._marks.shape[1]
        return (_ratio(both, either) + _ratio(width - either, width - both)) / 2


def _ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return part / whole, 1 where both are empty."""
    return np.divide(part, whole, out=np.ones_like(whole, np.float64), where=whole > 0)


def _runs(partners: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Return runs of entries whose pairs fit into memory; one entry is never split."""
    ends = np.cumsum(partners)
    runs, low = [], 0
    while low < len(partners):
        before = int(ends[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + _PAIRS, side="right")))
        runs.append((low, high))
        low = high
    return runs


class Positions(Summed):
    """S = mean over R of the share of labels on which two sets agree, marked or not (1 - Hamming distance).

    Totals are whole numbers, so that a tie is one.
    """

    def __init__(self, ballots: Ballots) -> None:
        """Count the marks of each label an item."""
        assert ballots.marks is not None  # noqa: S101 - `scores_of` refused everything else
        self._ballots, self._marks = ballots, ballots.marks
        self._width = self._marks.shape[1]
        columns = [
            np.bincount(ballots.item, weights=column[ballots.codes], minlength=ballots.size) for column in self._marks.T
        ]
        marked = np.array(columns).reshape(-1, ballots.size).T.astype(np.int64)
        self._unmarked = ballots.votes * self._width - marked.sum(axis=1)
        self._gain = 2 * marked - ballots.votes[:, None]  # what marking a label adds to the total over all humans

    def _totals(self, item: NDArray[np.intp], codes: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the positions on which sets agree with all humans of an item."""
        totals = np.empty(len(item), np.int64)
        for part in chunks(len(item), self._width):
            gains = (self._marks[codes[part]] * self._gain[item[part]]).sum(axis=1)
            totals[part] = self._unmarked[item[part]] + gains
        return totals

    def _agreed(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the positions on which sets agree, pair by pair of their codes."""
        found = np.empty(len(first), np.int64)
        for part in chunks(len(first), self._width):
            found[part] = (self._marks[first[part]] == self._marks[second[part]]).sum(axis=1)
        return found

    def _standings(self) -> NDArray[np.float64]:
        """Return (cells,) positions on which all humans agree with the set."""
        return self._totals(self._ballots.item, self._ballots.codes).astype(np.float64)

    def signs(self, replies: Replies, cells: NDArray[np.intp]) -> NDArray[np.int8]:
        """See `Closeness`."""
        item, codes = self._ballots.item[cells], self._ballots.codes[cells]
        answer = replies.codes[item]
        candidate = self._totals(item, answer) - self._agreed(answer, codes)
        return signs_of_totals(candidate, self.standing[cells].astype(np.int64) - self._width)

    def mean(self, first: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.float64]:
        """See `Summed`."""
        agreed = self._agreed(first.ravel(), others.ravel()) / self._width
        mean: NDArray[np.float64] = agreed.reshape(others.shape).mean(axis=1)
        return mean


ScoreLike: TypeAlias = "str | Callable[[Any, Sequence[Any]], float]"

DEFAULT_SCORE: dict[Kind, str] = {"labels": "accuracy", "numbers": "neg_rmse", "sets": "jaccard"}
_MADE: dict[str, Callable[[Ballots], Closeness]] = {
    "accuracy": Accuracy,
    "neg_rmse": Distance,
    "jaccard": Jaccard,
    "macro_jaccard": MacroJaccard,
    "hamming": Positions,
}
_FITS: dict[str, tuple[Kind, ...]] = {
    "accuracy": ("labels", "numbers", "sets"),
    "neg_rmse": ("numbers",),
    "jaccard": ("sets",),
    "macro_jaccard": ("sets",),
    "hamming": ("sets",),
}
_NEEDS: dict[Kind, str] = {"labels": "labels", "numbers": "numbers", "sets": "sets of labels"}
SCORES = tuple(_MADE)


def score_name(score: ScoreLike) -> str:
    """Return the name a score is reported under."""
    return score if isinstance(score, str) else str(getattr(score, "__name__", type(score).__name__))


def scores_of(scores: Iterable[ScoreLike] | ScoreLike | None, kind: Kind) -> dict[str, ScoreLike]:
    """Return the scores by name; by default the one usual for this kind of answers.

    Raises:
        UnknownNameError: no such score.
        UsageError: a score does not fit the answers, or two functions have one name.

    """
    given = [scores] if isinstance(scores, str) or callable(scores) else list(scores or ())
    named: dict[str, ScoreLike] = {}
    for score in given or [DEFAULT_SCORE[kind]]:
        name = score_name(score)
        _check(score, kind)
        if named.setdefault(name, score) is not score and named[name] != score:
            raise UsageError(f"two scores are named {name!r}: give the functions names of their own.")
    return named


def _check(score: ScoreLike, kind: Kind) -> None:
    if not isinstance(score, str):
        if not callable(score):
            raise UsageError(f"a score is a name or a function (prediction, annotations) -> number, not {score!r}.")
        return
    if score not in _MADE:
        raise UnknownNameError("score", score, SCORES)
    if kind not in _FITS[score]:
        fitting = ", ".join(name for name, kinds in _FITS.items() if kind in kinds)
        wanted = " or ".join(_NEEDS[one] for one in _FITS[score])
        raise UsageError(f"score {score!r} is of {wanted}, and these answers are {_NEEDS[kind]}: use {fitting}.")


def closeness(score: ScoreLike, ballots: Ballots) -> Closeness:
    """Return a score over some ballots."""
    return _MADE[score](ballots) if isinstance(score, str) else Function(ballots, score)


Words = Sequence[Any]  # code -> the label, number or set it stands for


@dataclass(frozen=True, kw_only=True, eq=False)
class Replies:
    """One answer an item: `given` (items,) says where there is one, `codes` and `numbers` (items,) what it is."""

    given: NDArray[np.bool_]
    codes: NDArray[np.intp]
    numbers: NDArray[np.float64] | None

    @classmethod
    def of(cls, panel: Panel, candidate: str) -> Replies:
        """Return what a candidate of the panel replied."""
        cells = panel.cells_of(candidate)
        places = panel.item[cells]
        given = np.zeros(len(panel.items), bool)
        given[places] = True
        codes = np.full(len(panel.items), -1, np.intp)
        codes[places] = panel.codes[cells]
        numbers = None
        if panel.kind == "numbers":
            numbers = np.full(len(panel.items), np.nan)
            numbers[places] = panel.values[cells]
        return cls(given=given, codes=codes, numbers=numbers)


@dataclass(frozen=True, kw_only=True, eq=False)
class Ballots:
    """The cells of the humans: `annotator`, `item` and `codes` (cells,), `numbers` (cells,) where they are numbers.

    `item` counts from 0 to `size` - 1 (`items` names them); two codes are equal exactly where the answers are. `marks`
    (codes, labels) holds the set behind each code, `words` what a code stands for. A cell costs the same however many
    annotators or items there are: nothing is laid out as annotators x items.
    """

    annotators: tuple[str, ...]
    annotator: NDArray[np.intp]
    item: NDArray[np.intp]
    codes: NDArray[np.intp]
    numbers: NDArray[np.float64] | None
    marks: NDArray[np.bool_] | None
    words: Words
    items: tuple[str, ...]
    size: int

    @classmethod
    def of(cls, panel: Panel, humans: Sequence[str]) -> Ballots:
        """Return the ballots of some raters of a panel."""
        place = np.full(len(panel.raters), -1, np.intp)
        for number, human in enumerate(humans):
            place[panel.raters.index(human)] = number
        annotator = place[panel.rater]
        cells = np.flatnonzero(annotator >= 0)
        words, marks = _vocabulary(panel)
        return cls(
            annotators=tuple(humans),
            annotator=annotator[cells],
            item=panel.item[cells],
            codes=panel.codes[cells],
            numbers=panel.values[cells] if panel.kind == "numbers" else None,
            marks=marks,
            words=words,
            items=panel.items,
            size=len(panel.items),
        )

    @cached_property
    def votes(self) -> NDArray[np.intp]:
        """(items,) how many humans answered."""
        return np.bincount(self.item, minlength=self.size)

    @cached_property
    def by_name(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The cells by item, then annotator's name, and (cells,) where each stands among them."""
        names = sorted(range(len(self.annotators)), key=self.annotators.__getitem__)
        rank = np.empty(len(names), np.intp)
        rank[names] = np.arange(len(names))
        order = np.lexsort((rank[self.annotator], self.item))
        place = np.empty(len(order), np.intp)
        place[order] = np.arange(len(order))
        return order, place

    @cached_property
    def seat(self) -> NDArray[np.intp]:
        """(cells,) how many humans of the item stand before it by name."""
        starts = np.cumsum(self.votes) - self.votes
        return self.by_name[1] - starts[self.item]

    def take(self, cells: NDArray[np.intp], *, item: NDArray[np.intp], size: int) -> Ballots:
        """Return the answers of some cells as ballots about other items."""
        numbers = None if self.numbers is None else self.numbers[cells]
        annotator = self.annotator[cells]
        return replace(self, annotator=annotator, item=item, codes=self.codes[cells], numbers=numbers, size=size)


def _vocabulary(panel: Panel) -> tuple[Words, NDArray[np.bool_] | None]:
    if panel.kind == "labels":
        return panel.labels, None
    first = np.unique(panel.codes, return_index=True)[1]
    distinct = panel.values[first]
    if panel.kind == "numbers":
        return distinct.tolist(), None
    labels = np.array(panel.labels, object)
    return [frozenset(labels[marked]) for marked in distinct], distinct
