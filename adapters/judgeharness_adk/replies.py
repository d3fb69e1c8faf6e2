"""What a model of ADK gave back -> the answer, or the error it answered with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from google.adk.models.llm_response import LlmResponse
from google.genai.types import BlockedReason, FinishReason

from judgeharness_integrations.modelanswer import NO_TOKENS, ModelAnswer, tokens_of

__all__ = ["ModelAnswerError", "Replied", "answer_of"]

_ENDS = frozenset({*FinishReason.__members__, *BlockedReason.__members__})  # other codes are errors
_STATUS = {
    "RESOURCE_EXHAUSTED": 429,
    "ABORTED": 409,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied(ModelAnswer):
    """An answer of a model of ADK's, and its last `response` as it came."""

    response: LlmResponse = field(repr=False, compare=False)


class ModelAnswerError(RuntimeError):
    """A model answered with an error of its own; `status_code` is the HTTP status it stands for, where known."""

    def __init__(self, reason: str, message: str | None) -> None:
        """Keep the reason, a number or a name of the provider's."""
        super().__init__(f"the model answered with error {reason}: {message or 'no message'}")
        self.status_code = int(reason) if reason.isdecimal() else _STATUS.get(reason)


def answer_of(responses: Sequence[LlmResponse]) -> Replied:
    """Return what the whole responses of one request say: the last text, and how the last of them ended.

    Raises:
        ModelAnswerError: there is no text, and an error instead.
        ValueError: there are no responses.

    """
    if not responses:
        raise ValueError("a request without a response")
    last, newest = responses[-1], responses[::-1]
    text = next(filter(None, map(_text, newest)), "")
    reason = _reason(last)
    if not text and reason is not None and reason not in _ENDS:
        raise ModelAnswerError(reason, last.error_message)
    usage = next((response.usage_metadata for response in newest if response.usage_metadata), None)
    parts = (last.content.parts if last.content else None) or ()
    called = [part.function_call for part in parts if part.function_call]
    return Replied(
        response=last,
        text=text,
        calls=tuple(json.dumps(call.args or {}, default=str) for call in called),
        tools=tuple(call.name or "" for call in called),
        finish_reason=reason,
        model=next((response.model_version for response in newest if response.model_version), None),
        tokens=NO_TOKENS if usage is None else tokens_of(usage),
    )


def _text(response: LlmResponse) -> str | None:
    parts = response.content.parts if response.content else None
    return "\n".join(part.text for part in parts or () if part.text and not part.thought) or None


def _reason(response: LlmResponse) -> str | None:
    """Return how a response ended, in the provider's words."""
    given = response.error_code or response.finish_reason
    return str(given.value if isinstance(given, Enum) else given) if given else None
