"""Instance by instance: is the candidate or the human closer to the remaining annotators?

Ties of two different answers, decided as the published code does: by the means of floating point numbers. Scores are
compared exactly, as whole numbers or within a tolerance, so that nothing that is no tie becomes one. Where that
leaves candidate and human as close to R although their answers differ, the published procedure compares two means
whose last digits rest on the order of R. They are taken here in the order of the annotators' names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.analysis.agreement.ballots import Ballots, Replies
from judgeharness_integrations.analysis.agreement.closeness import Closeness, Summed, chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
