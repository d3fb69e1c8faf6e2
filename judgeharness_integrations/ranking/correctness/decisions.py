"""What each judge decided about each pair, criterion by criterion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.ranking.arrays import Floats, Marks
from judgeharness_integrations.ranking.correctness.codes import ABSTAINED, FAILED, NOT_ASKED
from judgeharness_integrations.ranking.correctness.policy import Policy

__all__ = ["Codes", "CriterionDecisions", "Decisions"]

Codes = NDArray[np.int32]
TIE = "TIE"


@dataclass(frozen=True, kw_only=True, eq=False)
class CriterionDecisions:
    """One criterion. Codes are places in `labels`, or one of `codes`: abstained, failed, not asked.

    `codes` (pairs, judges) under the policy's rule; `gold` (pairs,), -1 without; `orders` (2, pairs, judges): the
    majority of the samples in the order as given, and in the other one. `unread` pairs have a gold label that cannot be
    compared with such answers, and count as without one.
    """

    criterion: str
    labels: tuple[str, ...]
    codes: Codes
    gold: Codes
    orders: Codes
    unread: int = 0

    def credit(self, codes: Codes, policy: Policy) -> Floats:
        """Return the credit of (..., pairs, judges) codes; NaN where not asked, missing, or without gold."""
        gold = self.gold[:, None]
        earned = (codes == gold).astype(np.float64)
        earned[(codes == self.coded(TIE)) & (codes != gold)] = policy.tie_credit
        earned[codes == ABSTAINED] = policy.tie_credit
        absent = (codes == NOT_ASKED) | ((codes == FAILED) & (policy.failures == "missing"))
        return np.where(absent | (gold < 0), np.nan, earned)

    @property
    def pairwise(self) -> bool:
        """Whether this is a choice between A and B: A and B may be grades beside C and D."""
        used = set(self.labels)
        return used <= {"A", "B", TIE} and bool(used & {"A", "B"})

    def coded(self, label: str) -> int:
        """Return a label's code; one that no cell holds where nobody used the label."""
        return self.labels.index(label) if label in self.labels else len(self.labels)

    @property
    def labelled(self) -> Marks:
        """(pairs,) whether there is a gold label."""
        return np.asarray(self.gold >= 0, np.bool_)


@dataclass(frozen=True, kw_only=True, eq=False)
class Decisions:
    """Decisions of judges about pairs under a policy.

    `columns`: name -> value of each pair; `divided`: columns whose value differs between rows of one pair.
    """

    judges: tuple[str, ...]
    pairs: tuple[str, ...]
    criteria: Mapping[str, CriterionDecisions]
    policy: Policy
    columns: Mapping[str, tuple[str | float | None, ...]] = field(default_factory=dict)
    divided: tuple[str, ...] = ()

    def criterion(self, name: str) -> CriterionDecisions:
        """Return a criterion.

        Raises:
            UnknownNameError: there is none of that name; the nearest is offered.

        """
        if name not in self.criteria:
            raise UnknownNameError("criterion", name, self.criteria)
        return self.criteria[name]
