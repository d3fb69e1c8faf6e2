"""Ties of two different answers, decided as the published code does: by the means of floating point numbers.

Scores are compared exactly, as whole numbers or within a tolerance, so that nothing that is no tie becomes one. Where
that leaves candidate and human as close to R although their answers differ, the published procedure compares two means
whose last digits rest on the order of R. They are taken here in the order of the annotators' names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.agreement.alttest.closeness import Closeness, Summed, chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from judgeharness_integrations.agreement.alttest.ballots import Ballots, Replies

__all__ = ["as_published"]


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
