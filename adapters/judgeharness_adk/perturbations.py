"""What of an ADK invocation can be shown in another order; imports no framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from judgeharness_integrations.judging.perturbations import Context, Perturbation

if TYPE_CHECKING:
    from judgeharness_integrations.judging.cases import Case

    from .invocations import InvocationCase

_FEWEST = 2


def rubric_order() -> Perturbation:
    """Return the perturbation that shows the rubrics (or the sentences of `hallucinations_v1`) in another order."""
    return Perturbation("rubric_order", _reordered, fits=_one_question, contextual=True)


def position_swap() -> Perturbation:
    """Return the perturbation that shows the reference before the response; verdicts stay as they are."""
    return Perturbation("position_swap", _swapped, fits=_one_response, swaps=True)


def _reordered(case: InvocationCase, context: Context) -> InvocationCase:
    order = list(range(len(case.questions)))
    while order == sorted(order):
        context.random.shuffle(order)
    return replace(case, questions=tuple(case.questions[place] for place in order))


def _one_question(case: Case) -> str | None:
    questions = getattr(case, "questions", None)
    if questions is None:
        return f"rubric_order needs an ADK invocation, not a {type(case).__name__}."
    return None if len(questions) >= _FEWEST else "rubric_order needs two rubrics at least: the judge is shown one."


def _swapped(case: InvocationCase) -> InvocationCase:
    return replace(case, reference_first=not case.reference_first)


def _one_response(case: Case) -> str | None:
    if getattr(case, "swappable", False):
        return None
    return "position_swap needs two texts side by side: this prompt shows the judge one response."


PERTURBATIONS: Mapping[str, Callable[[], Perturbation]] = MappingProxyType(
    {"position_swap": position_swap, "rubric_order": rubric_order}
)
