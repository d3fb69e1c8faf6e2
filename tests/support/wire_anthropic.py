"""Anthropic's shape: messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from support.provider_wire import Answer, Request, Wire, content_text, new_id

__all__ = ["Anthropic"]

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Anthropic(Wire):
    """`POST /v1/messages`. A refusal is a 200, before the first word as well as after some."""

    provider: ClassVar[str] = "anthropic"
    path: ClassVar[str] = "/v1/messages"

    _WORDS: ClassVar[dict[str, str]] = {
        "ok": "end_turn",
        "stop_sequence": "stop_sequence",
        "cut_off": "max_tokens",
        "context_full": "model_context_window_exceeded",
        "blocked": "refusal",
        "refused": "refusal",
        "prompt_blocked": "refusal",
    }

    def turns(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        if body.get("system"):
            yield "system", content_text(body["system"])
        for message in body.get("messages", ()):
            yield message.get("role", ""), content_text(message.get("content"))

    def forced_tool(self, body: Mapping[str, Any]) -> str | None:
        choice, tools = body.get("tool_choice") or {}, body.get("tools") or ()
        if choice.get("type") == "tool":
            return str(choice["name"])
        return str(tools[0]["name"]) if choice.get("type") == "any" and tools else None

    def tier(self, body: Mapping[str, Any]) -> str:
        del body  # "auto" serves by priority only where that was bought
        return "standard"

    def failure(self, status: int, message: str, code: str | None = None) -> dict[str, Any]:
        kind = code or _ERRORS.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": new_id("req_")}

    def render(self, answer: Answer, request: Request) -> tuple[int, dict[str, Any]]:
        tokens, tool = answer.used(request), answer.called(request)
        words = {**self._WORDS, "ok": "tool_use"} if tool else self._WORDS
        ending = answer.ending(words)
        refused = ending.lower() == "refusal"
        told = {"type": "refusal", "category": None, "explanation": answer.text or None}
        stops = request.body.get("stop_sequences") or ["\n\nHuman:"]
        usage = {
            "input_tokens": tokens.fresh,
            "cache_creation_input_tokens": tokens.written,
            "cache_read_input_tokens": tokens.cached,
            "cache_creation": {"ephemeral_5m_input_tokens": tokens.written, "ephemeral_1h_input_tokens": 0},
            "output_tokens": tokens.output,
            "output_tokens_details": {"thinking_tokens": tokens.reasoning},
            "service_tier": answer.tier or self.tier(request.body),
        }
        return 200, {
            "id": answer.response_id or new_id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": answer.model or request.model,
            "content": list(self._blocks(answer, tool)),
            "stop_reason": ending,
            "stop_sequence": stops[0] if answer.ended == "stop_sequence" else None,
            "stop_details": told if refused else None,
            "usage": usage,
        }

    def _blocks(self, answer: Answer, tool: str | None) -> Iterator[dict[str, Any]]:
        if answer.thinking is not None:
            yield {"type": "thinking", "thinking": answer.thinking, "signature": "c2lnbmVk"}
        if answer.ended in ("empty", "refused", "prompt_blocked"):
            return
        if tool:
            if answer.text:
                yield {"type": "text", "text": answer.text}
            yield {"type": "tool_use", "id": new_id("toolu_"), "name": tool, "input": answer.parsed_arguments()}
        elif answer.shown:
            yield {"type": "text", "text": answer.shown}
