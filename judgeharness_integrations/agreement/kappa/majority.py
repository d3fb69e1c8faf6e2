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
        rule: `majority` for labels and sets: the most frequent answer, however few gave it; `median` for numbers.
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
    item = np.broadcast_to(np.arange(answers.shape[1]), answers.shape)[answers >= 0]
    width = int(answers.max(initial=-1)) + 1
    said, times = np.unique(item * width + answers[answers >= 0], return_counts=True)
    about, code = np.divmod(said, max(width, 1))
    most, first = np.zeros(answers.shape[1], np.intp), np.full(answers.shape[1], -1, np.intp)
    np.maximum.at(most, about, times)
    winning = times == most[about]
    first[about[winning]] = code[winning]
    tied = np.bincount(about[winning], minlength=answers.shape[1]) > 1
    return Consensus(rule="majority", answers=np.where(tied, -1, first), ties=int(tied.sum()))


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
