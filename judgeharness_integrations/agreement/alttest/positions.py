"""Hamming score of sets of labels: the positions on which two of them agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.agreement.alttest.closeness import Summed, chunks, signs_of_totals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from judgeharness_integrations.agreement.alttest.ballots import Ballots, Replies

__all__ = ["Positions"]


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
