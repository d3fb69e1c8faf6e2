"""What most humans said about each item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.kappa.scales import Answers

__all__ = ["Consensus", "human_consensus"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Consensus:
    """One answer an item.

    Attributes:
        rule: `majority` for labels and sets, `median` for numbers.
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
    humans, items = answers.shape
    # how often each answer was given about its item; a missing one counts as never
    same = np.zeros((humans, items), np.intp)
    for row in answers:
        same += (answers == row) & (answers >= 0)
    most = same.max(axis=0, initial=0)
    winners = np.where((same == most) & (most > 0), answers, -1)
    one = winners.max(axis=0, initial=-1)
    tied = ((winners >= 0) & (winners != one)).any(axis=0)
    return Consensus(rule="majority", answers=np.where(tied, -1, one), ties=int(tied.sum()))


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
