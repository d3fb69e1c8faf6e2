"""Pairs by group, and what of a criterion there is to compare: gold labels and the answers that count."""

from __future__ import annotations

from typing import Final

import numpy as np

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.ranking.arrays import Ints, Marks
from judgeharness_integrations.ranking.correctness.codes import FAILED, NOT_ASKED
from judgeharness_integrations.ranking.correctness.decisions import CriterionDecisions, Decisions
from judgeharness_integrations.ranking.correctness.policy import Policy

__all__ = ["NO_DECISION", "counted", "labels_found", "pair_groups"]

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
