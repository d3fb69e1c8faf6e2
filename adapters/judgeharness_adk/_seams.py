"""Every part of google-adk we use that its makers did not make public, in one place: what a new version may break."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import UsageError

if TYPE_CHECKING:
    from google.adk.evaluation.eval_case import Invocation
    from google.adk.evaluation.hallucinations_v1 import EvaluationStep, HallucinationsV1Evaluator

__all__ = [
    "TESTED",
    "ask_anew",
    "reference_first",
    "show_conversation",
    "steps_of",
    "tested",
]

TESTED = ">=2.13,<2.14"  # the versions the tests run against; the extra asks for these

_FIRST, _BEFORE = (2, 13), (2, 14)

_RESPONSE, _REFERENCE = '  "Agent response": {response},\n', '  "Reference response": {golden_response},\n'


def tested(version: str) -> bool:
    """Whether a version of google-adk is one the tests run against."""
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    return _FIRST <= numbers < _BEFORE


def _seam(holder: object, name: str) -> Any:
    try:
        return getattr(holder, name)
    except AttributeError as error:
        from importlib.metadata import version  # noqa: PLC0415

        raise UsageError(
            f"google-adk {version('google-adk')} has no {type(holder).__name__}.{name} any more: "
            f"install one that is supported, pip install 'google-adk[eval]{TESTED}'."
        ) from error


def ask_anew(llm: object) -> None:
    """Have LiteLLM answer a model's requests itself: its cache would answer every repetition with one reply."""
    litellm = sys.modules.get("litellm")
    if getattr(litellm, "cache", None) is not None and any(kind.__name__ == "LiteLlm" for kind in type(llm).__mro__):
        _seam(llm, "_additional_args")["cache"] = {"no-cache": True}


def show_conversation(evaluator: object, conversation: Sequence[Invocation]) -> None:
    """Give a multi-turn evaluator the conversation its prompt is about."""
    _seam(evaluator, "_assemble_dialogue_history")(list(conversation))


def reference_first(evaluator: object) -> bool:
    """Have a response-match evaluator show the reference first; return False when its prompt does not allow it."""
    template = str(_seam(evaluator, "_auto_rater_prompt_template"))
    if _RESPONSE + _REFERENCE not in template:
        return False
    evaluator._auto_rater_prompt_template = template.replace(  # type: ignore[attr-defined]  # noqa: SLF001
        _RESPONSE + _REFERENCE, _REFERENCE + _RESPONSE
    )
    return True


def steps_of(evaluator: HallucinationsV1Evaluator, invocation: Invocation) -> list[EvaluationStep]:
    """Return what the agent said in an invocation and the context of each, as a hallucination evaluator sees it."""
    steps: list[EvaluationStep] = _seam(evaluator, "_get_steps_to_evaluate")(invocation)
    return steps
