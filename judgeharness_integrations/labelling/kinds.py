"""Labels, numbers and sets of labels: one criterion of one annotator holds one kind."""

from __future__ import annotations

from typing import Literal, TypeAlias

from judgeharness_integrations.calibration.answers import Answers
from judgeharness_integrations.verdictlog.row import Verdict, is_number

__all__ = ["VerdictKind", "kind_of", "kinds_of"]

VerdictKind: TypeAlias = Literal["labels", "numbers", "sets of labels"]


def kind_of(verdict: Verdict) -> VerdictKind:
    """Return the kind of a verdict."""
    if isinstance(verdict, frozenset):
        return "sets of labels"
    return "numbers" if is_number(verdict) else "labels"


def kinds_of(answers: Answers) -> tuple[VerdictKind, ...]:
    """Return the kinds that what may be said can be of."""
    if answers.kind == "any":
        return ("labels", "numbers")
    if answers.kind == "labels":
        return ("sets of labels",)
    return ("numbers",) if answers.kind == "number" else ("labels",)
