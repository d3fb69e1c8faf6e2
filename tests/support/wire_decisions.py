"""`POST /v1/decisions`: typed questions about a state, answered with probabilities."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from support.provider_wire import Answer, Request, content_text
from support.wire_openai import OpenAIChat

__all__ = ["Decisions", "state_in"]


class Decisions(OpenAIChat):
    """The scripted answer holds the `answers` of the body as its arguments, in the order of the questions."""

    provider: ClassVar[str] = "openai-decisions"
    path: ClassVar[str] = "/v1/decisions"

    def turns(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        for question in body.get("questions", ()):
            yield "system", str(question["instructions"])
        yield "user", _text(body.get("input"))

    def forced_tool(self, body: Mapping[str, Any]) -> str | None:
        del body
        return None

    def document(self, answer: Answer, request: Request) -> dict[str, Any]:
        used = answer.used(request)
        return {
            "answers": answer.parsed_arguments(),
            "model": answer.model or request.model,
            "usage": {
                "input_tokens": used.input,
                "input_tokens_details": {"cached_tokens": used.cached, "cache_write_tokens": used.written},
                "output_tokens": used.output,
                "output_tokens_details": {"reasoning_tokens": used.reasoning},
                "total_tokens": used.input + used.output,
            },
        }


def _text(given: Any) -> str:
    if isinstance(given, str):
        return given
    return "\n".join(content_text(message.get("content")) for message in given or ())


def state_in(request: Request) -> dict[str, str]:
    """The state of a request: title -> text."""
    state: dict[str, str] = json.loads(_text(request.body["input"]))
    return state
