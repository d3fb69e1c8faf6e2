"""The choice between A and B among the criteria of a log, and what each judge chose."""

from __future__ import annotations

import math

import numpy as np

from judgeharness_integrations.ranking.arrays import Floats
from judgeharness_integrations.ranking.correctness.codes import ABSTAINED
from judgeharness_integrations.ranking.correctness.decisions import CriterionDecisions, Decisions
from judgeharness_integrations.verdictlog.columns import LENGTH_COLUMNS

__all__ = ["chosen_first", "longer_answers", "pairwise_criterion"]


def pairwise_criterion(decisions: Decisions) -> CriterionDecisions | None:
    """Return the first criterion that is a choice between A and B."""
    return next((entry for entry in decisions.criteria.values() if entry.pairwise), None)


def chosen_first(entry: CriterionDecisions, *, undecided: float) -> Floats:
    """Return (pairs, judges): 1 where A was chosen, 0 where B, NaN for failures and where a judge was not asked.

    Args:
        entry: a choice between A and B.
        undecided: the value of a tie and of no decision.

    """
    chosen = np.full(entry.codes.shape, np.nan)
    for label, value in (("A", 1.0), ("B", 0.0), ("TIE", undecided)):
        chosen[entry.codes == entry.coded(label)] = value
    chosen[entry.codes == ABSTAINED] = undecided
    return chosen


def longer_answers(decisions: Decisions) -> Floats | None:
    """Return (pairs,): 1 where A is the longer answer, 0 where B, NaN where they are as long or a length is unknown.

    None without columns `length_a` (or `length`) and `length_b` of numbers.
    """
    for names in LENGTH_COLUMNS:
        if all(name in decisions.columns for name in names):
            first, second = (np.array([_number(cell) for cell in decisions.columns[name]]) for name in names)
            return np.where(first > second, 1.0, np.where(second > first, 0.0, np.nan))
    return None


def _number(cell: str | float | None) -> float:
    try:
        value = math.nan if cell is None else float(cell)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan
