"""Hamming score of sets of labels: the positions on which two of them agree."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.agreement.alttest.closeness import Closeness, chunks, signs_of_totals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from judgeharness_integrations.agreement.alttest.ballots import Ballots, Replies

__all__ = ["Positions"]

_SUMMED = 8  # human answers up to which the published means are plain sums, one after the other


class Positions(Closeness):
    """S = mean over R of the share of labels on which two sets agree, marked or not (1 - Hamming distance).

    Totals are whole numbers. Equal ones are a tie, with one exception: the reference values of this test evaluate S in
    floating point, where 6 + 5 + 4 + 4 and 5 + 4 + 5 + 5 sixths differ in their last digit. To give the same numbers,
    equal totals over few annotators are compared as those sums are, in the order of the annotators' names (so that the
    order of the input still does not matter).
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

    @cached_property
    def _by_name(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The cells by item, then name, and where each item starts among them."""
        names = np.array(sorted(range(len(self._ballots.annotators)), key=self._ballots.annotators.__getitem__))
        rank = np.empty(len(names), np.intp)
        rank[names] = np.arange(len(names))
        order = np.lexsort((rank[self._ballots.annotator], self._ballots.item))
        return order, np.cumsum(self._ballots.votes) - self._ballots.votes

    def signs(self, replies: Replies, cells: NDArray[np.intp]) -> NDArray[np.int8]:
        """See `Closeness`."""
        item, codes = self._ballots.item[cells], self._ballots.codes[cells]
        answer = replies.codes[item]
        candidate = self._totals(item, answer) - self._agreed(answer, codes)
        signs = signs_of_totals(candidate, self.standing[cells].astype(np.int64) - self._width)
        tied = np.flatnonzero((signs == 0) & (answer != codes) & (self._ballots.votes[item] <= _SUMMED))
        signs[tied] = self._as_summed(cells[tied], answer[tied])
        return signs

    def _as_summed(self, cells: NDArray[np.intp], answer: NDArray[np.intp]) -> NDArray[np.int8]:
        """Return the signs of the sums in floating point."""
        order, starts = self._by_name
        item, own = self._ballots.item[cells], self._ballots.codes[cells]
        candidate, human = np.zeros(len(cells)), np.zeros(len(cells))
        for place in range(int(self._ballots.votes[item].max(initial=0))):
            there = np.flatnonzero(place < self._ballots.votes[item])
            other = order[starts[item[there]] + place]
            there, other = there[other != cells[there]], other[other != cells[there]]
            candidate[there] += self._agreed(answer[there], self._ballots.codes[other]) / self._width
            human[there] += self._agreed(own[there], self._ballots.codes[other]) / self._width
        rest = self._ballots.votes[item] - 1
        return np.sign(candidate / rest - human / rest).astype(np.int8)
