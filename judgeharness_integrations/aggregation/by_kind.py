"""Two rules in one: the first for labels, the second for scores, whichever the judge answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from judgeharness_integrations.aggregation.decision import Decision
from judgeharness_integrations.aggregation.grouping import is_numeric
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from judgeharness_integrations.aggregation.rules import Rule

__all__ = ["ByKind"]


@dataclass(frozen=True)
class ByKind:
    """Fold labels with one rule and scores with another; which of them is fixed by the rows, not chosen afterwards."""

    labels: Rule
    numbers: Rule

    def __call__(self, rows: Sequence[VerdictRow]) -> Decision:
        """Decide with the rule for what the rows hold."""
        return (self.numbers if is_numeric(rows) else self.labels).decide(rows)
