"""What a rule decides about one case and criterion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from judgeharness_integrations.verdictlog.row import ABSTAIN, Verdict

Status: TypeAlias = Literal["decided", "abstained", "not_graded"]


@dataclass(frozen=True, kw_only=True)
class Decision:
    """`verdict` is `"ABSTAIN"` when abstained and None when not graded; `reason` is for people.

    `center` is the number behind a decision about scores, also when `pass_at` turned it into PASS or FAIL.
    """

    verdict: Verdict | None
    status: Status
    reason: str = ""
    center: float | None = None


def decided(verdict: Verdict, reason: str = "", *, center: float | None = None) -> Decision:
    """Return a decision for a verdict."""
    return Decision(verdict=verdict, status="decided", reason=reason, center=center)


def abstained(reason: str) -> Decision:
    """Return the decision not to decide."""
    return Decision(verdict=ABSTAIN, status="abstained", reason=reason)


def not_graded(reason: str) -> Decision:
    """Return the absence of a decision: too few valid samples."""
    return Decision(verdict=None, status="not_graded", reason=reason)
