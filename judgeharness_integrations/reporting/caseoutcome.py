"""What a case comes to for a suite of tests: passed, failed, abstained, or not graded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from judgeharness_integrations.result import CriterionResult
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

__all__ = ["CaseOutcome", "case_outcome"]

_GRADES: dict[str, Literal["passed", "failed"]] = {"PASS": "passed", "FAIL": "failed"}


@dataclass(frozen=True, kw_only=True)
class CaseOutcome:
    """`outcome` of a decision with the `reason`; `ungraded` says why one that passed is no real pass."""

    outcome: Literal["passed", "failed", "abstained", "not_graded"]
    reason: str
    ungraded: str = ""


def case_outcome(measured: CriterionResult, gold: Verdict | None) -> CaseOutcome:
    """Return what a case comes to.

    PASS passes and FAIL fails, whatever people say. Any other label passes where it equals the gold label and fails
    where it does not; without gold it is no pass or fail, nor is a score without `pass_at`: such a case counts as
    passed, and `ungraded` says so.

    Args:
        measured: the measurement of a case and criterion.
        gold: people's label; None without one.

    """
    if measured.status != "decided":
        return CaseOutcome(outcome=measured.status, reason=f"{measured.status.replace('_', ' ')}: {measured.reason}")
    decision = measured.verdict
    verdict = verdict_text(decision)
    if isinstance(decision, str) and decision in _GRADES:
        return CaseOutcome(outcome=_GRADES[decision], reason=f"verdict {verdict}")
    if is_number(decision):
        why = "a score is no pass or fail without pass_at"
        return CaseOutcome(outcome="passed", reason=f"score {verdict}", ungraded=why)
    if gold is None or is_number(gold):  # a score is neither the right label nor a wrong one
        why = f"{verdict} is no pass or fail without a gold label"
        return CaseOutcome(outcome="passed", reason=f"verdict {verdict}", ungraded=why)
    if decision == gold:
        return CaseOutcome(outcome="passed", reason=f"verdict {verdict}, as people say")
    return CaseOutcome(outcome="failed", reason=f"verdict {verdict}, people say {verdict_text(gold)}")
