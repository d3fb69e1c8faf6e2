"""Jaccard similarity of sets of labels, summed over the other humans of an item."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.agreement.alttest.closeness import Summed, chunks, signs_of_totals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from judgeharness_integrations.agreement.alttest.ballots import Ballots, Replies

__all__ = ["Jaccard", "MacroJaccard"]

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
