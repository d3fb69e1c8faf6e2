"""Structured output: the schemas asked for, and the errors that are answers all the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judgeharness_integrations.parsing import object_of
from judgeharness_langchain.messages import ModelAnswer

__all__ = ["REASONING", "ended_early", "means_unsupported", "object_schema", "reasoning_of", "structured_of"]

REASONING = {"type": "string", "description": "The reasons, before the verdict."}
_UNSUPPORTED_WORDS = ("response_format", "json_schema", "json_object", "tool_choice", "tools")
_UNSUPPORTED_STATUS = frozenset({400, 404, 422, 501})  # gateways and local servers do not agree on one


def object_schema(title: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object whose properties are all required."""
    return {
        "title": title,
        "description": "The verdict of a judge.",
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def reasoning_of(parsed: Mapping[str, Any]) -> str | None:
    """Return the reasons of a structured answer."""
    value = parsed.get("reasoning")
    return value if isinstance(value, str) else None


def structured_of(message: object, text: str, parsed: object) -> Mapping[str, Any] | None:
    """Return the structured output of an answer, None when it has none.

    A text is read strictly: the client's own parser also takes an object out of the midst of one, where it may be a
    quotation, and completes one that was cut off. A text without any brace is not what it was read from: a model may
    bring a structured output of its own.

    Args:
        message: what the model answered.
        text: its text.
        parsed: what the client made of it.

    """
    if "{" in text and not getattr(message, "tool_calls", None):
        return object_of(text)
    return parsed if isinstance(parsed, Mapping) else None


def means_unsupported(error: Exception) -> bool:
    """Whether a server says that it offers no structured output."""
    status = getattr(error, "status_code", None)
    return status in _UNSUPPORTED_STATUS and any(word in str(error) for word in _UNSUPPORTED_WORDS)


def ended_early(error: Exception) -> ModelAnswer | None:
    """Return an answer for errors that mean the model answered, but not usably."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if "ContentFilterFinishReasonError" in names:
        return ModelAnswer(text="", refusal="content filter")
    if names & {"LengthFinishReasonError", "OutputParserException", "ValidationError"}:
        return ModelAnswer(text=str(error)[:2000], truncated=True)
    return None
