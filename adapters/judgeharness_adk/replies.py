"""What a model of ADK gave back -> text, tokens, or why there is no text."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from google.adk.models.llm_response import LlmResponse

__all__ = ["ModelAnswerError", "Reply", "reply_of"]

_REFUSALS = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR", "JAILBREAK"}
)
_CUT = "MAX_TOKENS"
_SILENT = frozenset({"STOP", _CUT, "OTHER", "FINISH_REASON_UNSPECIFIED"})  # it answered, and said nothing
_STATUS = {
    "RESOURCE_EXHAUSTED": 429,
    "ABORTED": 409,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


class Reply(NamedTuple):
    """What a model answered: its text, or why there is none.

    `refused`: it would not answer; `cut`: the token limit ended the answer. Output tokens include those of thinking.
    """

    text: str | None
    reason: str | None = None
    refused: bool = False
    cut: bool = False
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class ModelAnswerError(RuntimeError):
    """A model answered with an error of its own; `status_code` is the HTTP status it stands for, where known."""

    def __init__(self, reason: str, message: str | None) -> None:
        """Keep the reason, a number or a name of the provider's."""
        super().__init__(f"the model answered with error {reason}: {message or 'no message'}")
        self.status_code = int(reason) if reason.isdecimal() else _STATUS.get(reason)


def reply_of(responses: Sequence[LlmResponse]) -> Reply:
    """Return what the whole responses of one request say: the last text, and how the last of them ended.

    Raises:
        ModelAnswerError: there is no text, and an error instead.
        ValueError: there are no responses.

    """
    if not responses:
        raise ValueError("a request without a response")
    last = responses[-1]
    text = next(filter(None, map(_text, reversed(responses))), None)
    reason = _reason(last)
    if text is None and reason not in _REFUSALS | _SILENT:
        raise ModelAnswerError(reason, last.error_message)
    read, written = _tokens(responses)
    return Reply(
        text=text,
        reason=None if text else reason,
        refused=text is None and reason in _REFUSALS,
        cut=reason == _CUT,
        model=next((response.model_version for response in reversed(responses) if response.model_version), None),
        input_tokens=read,
        output_tokens=written,
    )


def _text(response: LlmResponse) -> str | None:
    parts = response.content.parts if response.content else None
    return "\n".join(part.text for part in parts or () if part.text and not part.thought) or None


def _reason(response: LlmResponse) -> str:
    """Return how a response ended, in the provider's words."""
    given = response.error_code or response.finish_reason or "STOP"
    return str(given.value if isinstance(given, Enum) else given)


def _tokens(responses: Sequence[LlmResponse]) -> tuple[int | None, int | None]:
    usage = next((response.usage_metadata for response in reversed(responses) if response.usage_metadata), None)
    if usage is None:
        return None, None
    written = [n for n in (usage.candidates_token_count, usage.thoughts_token_count) if n is not None]
    return usage.prompt_token_count, sum(written) if written else None
