"""Which cases a judge can judge."""

from __future__ import annotations

from typing import Any, Protocol, cast

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.cases import AnswerCase, Case, PairwiseCase, case_id_of

__all__ = ["fitting_case", "misfit"]


class _Choosy(Protocol):
    """A judge that says which cases it cannot judge."""

    @property
    def name(self) -> str: ...

    def fits(self, case: Case) -> str | None: ...


def misfit(case: Case, asked: Any, *, pairwise: bool) -> str | None:
    """Return why a case cannot be judged, None when it can.

    Args:
        case: what is to be judged.
        asked: who is asked; its `requires_input` and `requires_reference` count.
        pairwise: two answers are compared, not one judged.

    """
    if not isinstance(case, AnswerCase):
        return f"it judges an AnswerCase or a PairwiseCase, not a {type(case).__name__}"
    if pairwise != isinstance(case, PairwiseCase):
        return (
            "it compares two answers and the case has one"
            if pairwise
            else "it judges one answer and the case has two, of which it would ignore output_b"
        )
    words = [word for word in ("input", "reference") if getattr(asked, f"requires_{word}", False)]
    missing = [word for word in words if getattr(case, word) is None]
    return f"it needs the {' and the '.join(missing)}, which the case lacks" if missing else None


def fitting_case(judge: _Choosy, case: Case) -> AnswerCase:
    """Return the case when the judge can judge it.

    Raises:
        CaseError: it cannot; a plan says so earlier.

    """
    if (reason := judge.fits(case)) is not None:
        raise CaseError(f"{judge.name} cannot judge case {case_id_of(case)!r}: {reason}.")
    return cast("AnswerCase", case)
