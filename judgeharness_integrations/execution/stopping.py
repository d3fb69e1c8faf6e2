"""When a case needs no further samples: its rule's decision can no longer change, for any of its criteria."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judgeharness_integrations.aggregation.curtailing import needed
from judgeharness_integrations.aggregation.grouping import DEFAULT_CRITERION, by_criterion
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["Stopping"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """Early stopping of one case; `criteria` are the declared ones.

    A judge that declares none and answers by name might still name another one, so its cases are never cut short.
    """

    rule: Rule
    min_valid: int | None
    criteria: tuple[str, ...]

    def needed(self, rows: Sequence[VerdictRow], remaining: Sequence[bool]) -> int:
        """Return how many further samples at least are needed before every criterion is settled; 0 when all are.

        Args:
            rows: the rows so far, in plan order, failures included.
            remaining: for each sample not asked yet, in plan order, whether it is shown in the other order.

        """
        groups = by_criterion(rows, self.criteria) or {DEFAULT_CRITERION: []}
        if not self.criteria and set(groups) != {DEFAULT_CRITERION}:
            return len(remaining)
        return max(needed(group, self.rule, remaining=remaining, min_valid=self.min_valid) for group in groups.values())
