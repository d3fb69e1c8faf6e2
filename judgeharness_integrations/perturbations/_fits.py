"""Why a perturbation cannot be applied to a case: the checks several perturbations share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgeharness_integrations.cases import AnswerCase, PairwiseCase, describe_kind, output_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from judgeharness_integrations.cases import Case

__all__ = ["kind_of", "texts_of", "wants_answer", "wants_text", "wants_two"]


def texts_of(case: Case) -> tuple[str, ...]:
    """Return the judged texts, none when they are not known."""
    return output_texts(case) or ()


def wants_two(name: str) -> Callable[[Case], str | None]:
    """Return a `fits` that accepts a `PairwiseCase` only."""

    def fits(case: Case) -> str | None:
        if isinstance(case, PairwiseCase):
            return None
        return f"{name} needs two answers: give a PairwiseCase, not {kind_of(case)}."

    return fits


def wants_answer(name: str) -> Callable[[Case], str | None]:
    """Return a `fits` that accepts an `AnswerCase` or a `PairwiseCase`."""

    def fits(case: Case) -> str | None:
        if isinstance(case, AnswerCase):
            return None
        return f"{name} needs an AnswerCase or a PairwiseCase, not {kind_of(case)}."

    return fits


def wants_text(name: str) -> Callable[[Case], str | None]:
    """Return a `fits` that accepts a case whose judged texts are known and none of which is empty."""

    def fits(case: Case) -> str | None:
        texts = output_texts(case)
        if texts is None:
            return f"{name} needs an AnswerCase, a PairwiseCase or a string, not {kind_of(case)}."
        if not texts:
            return f"{name} has nothing to change: the judge is not shown the answer."
        fields = ("the text",) if isinstance(case, str) else ("output", "output_b")
        empty = [field for field, text in zip(fields, texts, strict=False) if not text.strip()]
        return f"{name} cannot change an empty text: {' and '.join(empty)}." if empty else None

    return fits


def kind_of(case: Case) -> str:
    """Return what kind of case it is, with its article."""
    kind = describe_kind(case)
    return f"an {kind}" if kind[0] in "AEIOU" else f"a {kind}"
