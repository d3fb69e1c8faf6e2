"""How often decisions and single calls about labels were right, counted case by case."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from judgeharness_integrations.replay.deciding import CaseDecision
from judgeharness_integrations.verdictlog.row import is_number

__all__ = ["LabelCounts"]


@dataclass(kw_only=True)
class LabelCounts:
    """Counts over the cases of one judge and criterion; `known`: some case has a gold label, not a score."""

    known: bool = False
    labelled: int = 0
    correct: int = 0
    ties: int = 0
    asked: dict[str, int] = field(default_factory=dict)
    right: Counter[str] = field(default_factory=Counter)

    def add(self, case: CaseDecision) -> None:
        """Take in a case."""
        gold = None if is_number(case.gold) else case.gold  # a score is neither the right label nor a wrong one
        if case.decision.status == "decided":
            verdict = case.decision.verdict
            self.ties += verdict == "TIE"
            if gold is not None:
                self.labelled += 1
                self.correct += verdict == gold
        if gold is not None:
            self.known = True
        asked, right = self.asked, self.right
        for row in case.rows:  # a failed call about a labelled case is wrong
            name = row.perturbation
            asked[name] = asked.get(name, 0) + (gold is not None)
            if gold is not None and row.verdict == gold:
                right[name] += 1

    def measured(self, *, pairwise: bool) -> dict[str, Any]:
        """Return the fields of `JudgeReplay` that are about labels."""
        calls = {name: self.right[name] / count if count else None for name, count in self.asked.items()}
        return {
            "correct": self.correct if self.known else None,
            "labelled": self.labelled,
            "accuracy_decided": self.correct / self.labelled if self.labelled else None,
            "tie_decisions": self.ties if pairwise else None,
            "single_call_accuracy": calls if self.known else None,
            "within_case_sd": None,
            "mean_absolute_error": None,
        }
