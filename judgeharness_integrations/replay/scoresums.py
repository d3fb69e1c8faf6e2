"""How far scores lie apart and from gold, summed case by case."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import Any

from judgeharness_integrations.replay.deciding import CaseDecision, center_of, scores_of
from judgeharness_integrations.replay.exactsum import ExactMean
from judgeharness_integrations.verdictlog.row import is_number

__all__ = ["ScoreSums"]


@dataclass(kw_only=True)
class ScoreSums:
    """Sums over the cases of one judge and criterion; `passed` have a label as gold, for a rule with `pass_at`."""

    passed: int = 0
    correct: int = 0
    variance: ExactMean = field(default_factory=ExactMean)
    error: ExactMean = field(default_factory=ExactMean)

    def add(self, case: CaseDecision) -> None:
        """Take in a case."""
        if isinstance(case.gold, str) and isinstance(case.decision.verdict, str) and case.decision.status == "decided":
            self.passed += 1
            self.correct += case.decision.verdict == case.gold
        if len(scores := scores_of(case)) > 1:
            self.variance.add(statistics.variance(scores))
        center = None if _open_center(case) else center_of(case.decision)
        if center is not None and is_number(case.gold):
            self.error.add(abs(center - case.gold))  # type: ignore[operator] # a number

    def measured(self) -> dict[str, Any]:
        """Return the fields of `JudgeReplay` that are about scores."""
        spread = self.variance.value
        return {
            "correct": self.correct if self.passed else None,
            "labelled": self.passed or self.error.count,
            "accuracy_decided": self.correct / self.passed if self.passed else None,
            "tie_decisions": None,
            "single_call_accuracy": None,
            "within_case_sd": None if spread is None else math.sqrt(spread),
            "mean_absolute_error": self.error.value,
        }


def _open_center(case: CaseDecision) -> bool:
    """Whether further samples could have moved the number behind a decision: early stopping waits for PASS or FAIL."""
    return case.curtailed and isinstance(case.decision.verdict, str)
