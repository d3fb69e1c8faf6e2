"""Instance by instance: is the candidate or the human closer to the remaining annotators?

Ties of two different answers, decided as the published code does: by the means of floating point numbers. Scores are
compared exactly, as whole numbers or within a tolerance, so that nothing that is no tie becomes one. Where that
leaves candidate and human as close to R although their answers differ, the published procedure compares two means
whose last digits rest on the order of R. They are taken here in the order of the annotators' names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from judgeharness_integrations.analysis.agreement.closeness import Closeness, Summed, chunks
from judgeharness_integrations.analysis.agreement.panel import Panel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Advantage", "Ballots", "Replies", "Tally", "advantage", "as_published"]


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


def as_published(
    signs: NDArray[np.int8], closeness: Closeness, ballots: Ballots, replies: Replies, cells: NDArray[np.intp]
) -> NDArray[np.int8]:
    """Return the signs (cells,) of a score with ties of different answers decided."""
    answer = replies.codes[ballots.item[cells]]
    tied = np.flatnonzero((signs == 0) & (answer != ballots.codes[cells]))
    if not isinstance(closeness, Summed) or not len(tied):
        return signs
    decided, rest = signs.copy(), ballots.votes[ballots.item[cells[tied]]] - 1
    for size in np.unique(rest).tolist():
        group = tied[rest == size]
        for part in chunks(len(group), size):
            some = group[part]
            others = ballots.codes[_others(ballots, cells[some], size)]
            means = (
                closeness.mean(np.broadcast_to(codes[:, None], others.shape), others)
                for codes in (answer[some], ballots.codes[cells[some]])
            )
            decided[some] = np.sign(next(means) - next(means))
    return decided


def _others(ballots: Ballots, cells: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Return (cells, size) the cells of the other humans of an item, by name."""
    order, place = ballots.by_name
    first = place[cells] - ballots.seat[cells]
    along = np.arange(size)
    others: NDArray[np.intp] = order[first[:, None] + along + (along >= ballots.seat[cells][:, None])]
    return others


_PANEL = 2  # human labels an instance needs: one to leave out, one to compare with


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """Counts of wins, each (groups,): the human's alone, the candidate's alone, and ties, which both win."""

    human: NDArray[np.intp]
    tie: NDArray[np.intp]
    candidate: NDArray[np.intp]

    @cached_property
    def n(self) -> NDArray[np.intp]:
        """(groups,) instances."""
        return self.human + self.tie + self.candidate

    @classmethod
    def of(cls, signs: NDArray[np.int8], group: NDArray[np.intp], groups: int) -> Tally:
        """Count signs (1: the candidate is closer) by group."""
        counts = np.bincount(group * 3 + (signs + 1), minlength=3 * groups).reshape(groups, 3)
        return cls(human=counts[:, 0], tie=counts[:, 1], candidate=counts[:, 2])

    def take(self, groups: NDArray[np.intp]) -> Tally:
        """Return the counts of some groups."""
        return Tally(human=self.human[groups], tie=self.tie[groups], candidate=self.candidate[groups])


@dataclass(frozen=True, kw_only=True, eq=False)
class Advantage:
    """The comparisons of one candidate under one score; it serves every epsilon.

    `annotator`, `item` and `sign` (cells,) hold the kept instances of each annotator: 1 where the candidate alone wins
    (W_f = 1, W_h = 0), -1 where the human alone does, 0 where both do. `tally` counts them by annotator, `tested`
    lists the annotators with at least `min_instances`, `kept` counts the instances. `strangers` are an item of the
    humans and one of the candidate, where they have none in common.
    """

    candidate: str
    score: str
    annotator: NDArray[np.intp]
    item: NDArray[np.intp]
    sign: NDArray[np.int8]
    tally: Tally
    tested: NDArray[np.intp]
    kept: int
    strangers: tuple[str, str] | None = None

    def of_tested(self) -> NDArray[np.bool_]:
        """Return (cells,) whether a cell is of a tested annotator."""
        return np.isin(self.annotator, self.tested)


def advantage(
    ballots: Ballots, closeness: Closeness, replies: Replies, *, candidate: str, score: str, min_instances: int
) -> Advantage:
    """Compare a candidate with every human on the instances with two human labels and one of the candidate."""
    kept = (ballots.votes >= _PANEL) & replies.given
    cells = np.flatnonzero(kept[ballots.item])
    signs = as_published(closeness.signs(replies, cells), closeness, ballots, replies, cells)
    annotator = ballots.annotator[cells]
    tally = Tally.of(signs, annotator, len(ballots.annotators))
    return Advantage(
        candidate=candidate,
        score=score,
        annotator=annotator,
        item=ballots.item[cells],
        sign=signs,
        tally=tally,
        tested=np.flatnonzero(tally.n >= min_instances),
        kept=int(kept.sum()),
        strangers=_strangers(ballots, replies),
    )


def _strangers(ballots: Ballots, replies: Replies) -> tuple[str, str] | None:
    answered = np.flatnonzero(replies.given)
    if not len(answered) or ballots.votes[answered].any():
        return None
    return ballots.items[ballots.item[0]], ballots.items[answered[0]]
