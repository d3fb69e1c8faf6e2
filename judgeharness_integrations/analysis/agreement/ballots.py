"""Who answered what, as arrays: the candidate's replies and the humans' ballots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from judgeharness_integrations.analysis.agreement.panel import Panel

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
