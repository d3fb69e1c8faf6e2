"""Class bias: how much more often a judge gives a label than it is right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from judgeharness_integrations.ranking.arrays import Marks
from judgeharness_integrations.ranking.classes.asked import NO_DECISION, counted, labels_found, pair_groups
from judgeharness_integrations.ranking.correctness.codes import ABSTAINED
from judgeharness_integrations.ranking.correctness.decisions import CriterionDecisions, Decisions
from judgeharness_integrations.statistics.paired import tango_interval

__all__ = ["ClassBias", "class_bias"]


@dataclass(frozen=True, kw_only=True)
class ClassBias:
    """One label of one judge, in one group of pairs (None: all): given on `predicted` of `n` pairs, gold on `true`.

    `n` counts the labelled pairs that the judge was asked about. Where any answer is no decision, that is the last
    label: never gold, and what all other labels lack. Shares and
    `bias` are None where n is 0. Gold and answer are paired: `se` is that of the mean difference, None below two pairs,
    and `ci95` Tango's score interval (1998), which has a width also where answers and gold agree throughout.
    """

    judge: str
    group: str | None
    criterion: str
    label: str
    n: int
    predicted: int
    true: int
    predicted_share: float | None
    true_share: float | None
    bias: float | None
    se: float | None
    ci95: tuple[float, float] | None

    def to_dict(self) -> dict[str, Any]:
        """Return the bias as JSON keeps it."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return values | {"ci95": None if self.ci95 is None else list(self.ci95)}


def class_bias(decisions: Decisions, criterion: str, *, by: str | None = None) -> tuple[ClassBias, ...]:
    """Return the bias of each judge for each label, by group; every group lists all labels, () without gold.

    Args:
        decisions: of judges about pairs, under the policy's rule.
        criterion: which.
        by: column that groups pairs; all pairs come first.

    Raises:
        UnknownNameError: the criterion or the column is not known.
        UsageError: the column differs between rows of one pair.

    """
    entry = decisions.criterion(criterion)
    chosen = counted(entry, decisions.policy)
    labels = labels_found(entry, chosen)[1].tolist()
    undecided = [ABSTAINED] if bool((entry.codes[chosen] < 0).any()) and labels else []
    return tuple(
        found
        for group, marks in pair_groups(decisions, by).items()
        for place, judge in enumerate(decisions.judges)
        for label in [*labels, *undecided]
        for found in [_of_label(entry, marks & chosen[:, place], (judge, place), group, label)]
    )


def _of_label(
    entry: CriterionDecisions, pairs: Marks, judge: tuple[str, int], group: str | None, label: int
) -> ClassBias:
    codes = entry.codes[pairs, judge[1]]
    given, gold = codes < 0 if label < 0 else codes == label, entry.gold[pairs] == label
    n, predicted, true, both = len(gold), int(given.sum()), int(gold.sum()), int((given & gold).sum())
    gained, lost = predicted - both, true - both
    bias = (gained - lost) / n if n else None
    se = None
    if bias is not None and n > 1:
        se = math.sqrt(max(0.0, gained + lost - n * bias**2) / (n - 1) / n)
    return ClassBias(
        judge=judge[0],
        group=group,
        criterion=entry.criterion,
        label=entry.labels[label] if label >= 0 else NO_DECISION,
        n=n,
        predicted=predicted,
        true=true,
        predicted_share=predicted / n if n else None,
        true_share=true / n if n else None,
        bias=bias,
        se=se,
        ci95=tango_interval(gained, lost, n) if n else None,
    )
