"""Confusion matrices: what judges answered where gold says what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from judgeharness_integrations.ranking.arrays import Ints, Marks
from judgeharness_integrations.ranking.classes.asked import NO_DECISION, counted, labels_found, pair_groups
from judgeharness_integrations.ranking.correctness.decisions import CriterionDecisions, Decisions

__all__ = ["Confusion", "confusions"]


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
