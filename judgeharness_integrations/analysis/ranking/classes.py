"""Which classes judges prefer, and which they mistake for which."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.ranking.correctness import (
    ABSTAINED,
    FAILED,
    NOT_ASKED,
    CriterionDecisions,
    Decisions,
    Policy,
)
from judgeharness_integrations.analysis.ranking.credits import Ints, Marks
from judgeharness_integrations.analysis.statistics.paired import tango_interval

NO_DECISION: Final = "no decision"


def pair_groups(decisions: Decisions, by: str | None) -> dict[str | None, Marks]:
    """Return group -> marks (pairs,): all pairs under None, then each value of the column `by`, sorted.

    Raises:
        UnknownNameError: there is no such column; the nearest is offered.
        UsageError: the column differs between rows of one pair.

    """
    groups: dict[str | None, Marks] = {None: np.ones(len(decisions.pairs), np.bool_)}
    if by is None:
        return groups
    if by in decisions.divided:
        raise UsageError(f"column {by!r} differs between the rows of one pair: to group pairs, give each one value.")
    if by not in decisions.columns:
        raise UnknownNameError("column", by, decisions.columns)
    values = ["" if value is None else str(value) for value in decisions.columns[by]]
    return groups | {name: np.array([value == name for value in values]) for name in sorted({*values} - {""})}


def counted(entry: CriterionDecisions, policy: Policy) -> Marks:
    """Return (pairs, judges): pairs with gold that the judge was asked about.

    An answer that failed is one of them, unless the policy takes it as not asked.
    """
    absent = entry.codes == NOT_ASKED
    if policy.failures == "missing":
        absent |= entry.codes == FAILED
    return np.asarray(entry.labelled[:, None] & ~absent, np.bool_)


def labels_found(entry: CriterionDecisions, chosen: Marks) -> tuple[Ints, Ints]:
    """Return the codes of labels that are gold, and of those that are gold or were given, on (pairs, judges) marks."""
    gold = np.unique(entry.gold[chosen.any(axis=1)])
    given = entry.codes[chosen]
    return gold.astype(np.intp), np.union1d(gold, given[given >= 0]).astype(np.intp)


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


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """Answers of one judge (None: all judges pooled) in one group of pairs (None: all).

    `counts`: a row for each of `true_labels`, in it a number for each of `predicted_labels`, of which the last is
    "no decision" where any judge abstained or failed.
    """

    judge: str | None
    group: str | None
    criterion: str
    true_labels: tuple[str, ...]
    predicted_labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    @property
    def n(self) -> int:
        """How many answers were counted."""
        return sum(map(sum, self.counts))

    @property
    def row_normalised(self) -> tuple[tuple[float, ...] | None, ...]:
        """Shares of each row, which sum to 1; None for a row without an answer."""
        return tuple(tuple(count / sum(row) for count in row) if any(row) else None for row in self.counts)

    def cells(self) -> Iterator[dict[str, Any]]:
        """Yield each cell as one row of a table; `share` is of the cells with the same true label."""
        for true, row, shares in zip(self.true_labels, self.counts, self.row_normalised, strict=True):
            for place, predicted in enumerate(self.predicted_labels):
                yield {
                    "judge": self.judge,
                    "group": self.group,
                    "criterion": self.criterion,
                    "true": true,
                    "predicted": predicted,
                    "count": row[place],
                    "share": None if shares is None else shares[place],
                }

    def to_dict(self) -> dict[str, Any]:
        """Return the matrix as JSON keeps it."""
        return {
            "judge": self.judge,
            "group": self.group,
            "criterion": self.criterion,
            "n": self.n,
            "true_labels": list(self.true_labels),
            "predicted_labels": list(self.predicted_labels),
            "counts": [list(row) for row in self.counts],
            "row_normalised": [None if row is None else list(row) for row in self.row_normalised],
        }


def confusions(decisions: Decisions, criterion: str, *, by: str | None = None) -> tuple[Confusion, ...]:
    """Return the matrix of all judges pooled and of each, by group; all have the same labels. () without gold.

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
    gold, labels = labels_found(entry, chosen)
    groups = pair_groups(decisions, by)
    undecided = bool((entry.codes[chosen] < 0).any())
    predicted = tuple(entry.labels[code] for code in labels) + (NO_DECISION,) * undecided
    if not len(gold):
        return ()
    return tuple(
        Confusion(
            judge=judge,
            group=group,
            criterion=criterion,
            true_labels=tuple(entry.labels[code] for code in gold),
            predicted_labels=predicted,
            counts=tuple(tuple(row) for row in counts.tolist()),
        )
        for group, marks in groups.items()
        for judge, counts in _tables(decisions.judges, entry, chosen & marks[:, None], (gold, labels), len(predicted))
    )


def _tables(
    judges: tuple[str, ...], entry: CriterionDecisions, chosen: Marks, labels: tuple[Ints, Ints], width: int
) -> Iterator[tuple[str | None, Ints]]:
    """Yield (name, counts): of all judges under None, then of each."""
    gold, given = labels
    pairs, judge = np.nonzero(chosen)
    codes = entry.codes[pairs, judge]
    column = np.where(codes < 0, width - 1, np.searchsorted(given, codes))
    row = np.searchsorted(gold, entry.gold[pairs])
    shape = (len(judges), len(gold), width)
    counts = np.bincount(np.ravel_multi_index((judge, row, column), shape), minlength=int(np.prod(shape)))
    tables = counts.reshape(shape)
    yield None, tables.sum(axis=0)
    yield from zip(judges, tables, strict=True)
