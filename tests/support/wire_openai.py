"""OpenAI's two shapes: chat completions and responses."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, ClassVar

from support.provider_wire import Answer, Request, Tokens, Wire, content_text, new_id

__all__ = ["OpenAIChat", "OpenAIResponses"]


class _OpenAI(Wire):
    def tier(self, body: Mapping[str, Any]) -> str:
        asked = body.get("service_tier") or "auto"
        return "default" if asked == "auto" else str(asked)

    def failure(self, status: int, message: str, code: str | None = None) -> dict[str, Any]:
        kind = "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            kind, code = (code or "requests", code or "rate_limit_exceeded")
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def render(self, answer: Answer, request: Request) -> tuple[int, dict[str, Any]]:
        if answer.ended == "prompt_blocked":
            word = answer.ending({"ok": "invalid_prompt"})
            return 400, self.failure(400, "Invalid prompt: it was flagged as against the usage policy.", word)
        return 200, self.document(answer, request)

    def document(self, answer: Answer, request: Request) -> dict[str, Any]:
        """The body of a 200."""
        raise NotImplementedError


class OpenAIChat(_OpenAI):
    """`POST /v1/chat/completions`."""

    provider: ClassVar[str] = "openai"
    path: ClassVar[str] = "/v1/chat/completions"

    _WORDS: ClassVar[dict[str, str]] = {
        "ok": "stop",
        "cut_off": "length",
        "context_full": "length",
        "blocked": "content_filter",
    }

    def turns(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        for message in body.get("messages", ()):
            yield message.get("role", ""), content_text(message.get("content"))

    def forced_tool(self, body: Mapping[str, Any]) -> str | None:
        choice, tools = body.get("tool_choice"), body.get("tools") or ()
        if isinstance(choice, dict):
            return str(choice["function"]["name"])
        return str(tools[0]["function"]["name"]) if choice == "required" and tools else None

    def billed(self, answer: Answer, request: Request) -> Tokens:
        """All choices; the prompt is billed once."""
        used, choices = answer.used(request), request.body.get("n") or 1
        return replace(used, output=used.output * choices, reasoning=used.reasoning * choices)

    def document(self, answer: Answer, request: Request) -> dict[str, Any]:
        choices = [] if answer.ended == "empty" else [self._choice(answer, request)] * (request.body.get("n") or 1)
        tokens = self.billed(answer, request)
        return {
            "id": answer.response_id or new_id("chatcmpl-"),
            "object": "chat.completion",
            "created": int(time.time()),
            "model": answer.model or request.model,
            "choices": [{**choice, "index": index} for index, choice in enumerate(choices)],
            "usage": {
                "prompt_tokens": tokens.input,
                "completion_tokens": tokens.output,
                "total_tokens": tokens.input + tokens.output,
                "prompt_tokens_details": {
                    "cached_tokens": tokens.cached,
                    "cache_write_tokens": tokens.written,
                    "audio_tokens": 0,
                },
                "completion_tokens_details": {
                    "reasoning_tokens": tokens.reasoning,
                    "audio_tokens": 0,
                    "accepted_prediction_tokens": 0,
                    "rejected_prediction_tokens": 0,
                },
            },
            "service_tier": answer.tier or self.tier(request.body),
            "system_fingerprint": "fp_loopback",
        }

    def chunks(self, document: dict[str, Any], request: Request) -> Iterator[dict[str, Any]]:
        """The completion as OpenAI streams it: the role, the pieces, why it ended, the usage where asked for."""
        shared = {key: document[key] for key in ("id", "created", "model", "service_tier", "system_fingerprint")}
        shared["object"] = "chat.completion.chunk"
        for choice in document["choices"]:
            for delta in self._deltas(choice["message"]):
                yield {**shared, "choices": [{"index": choice["index"], "delta": delta, "finish_reason": None}]}
            ending = {"index": choice["index"], "delta": {}, "finish_reason": choice["finish_reason"]}
            yield {**shared, "choices": [ending]}
        if (request.body.get("stream_options") or {}).get("include_usage"):
            yield {**shared, "choices": [], "usage": document["usage"]}

    def _deltas(self, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield {"role": "assistant", "content": ""}
        for piece in re.findall(r"\s*\S+\s*", message["content"] or ""):
            yield {"content": piece}
        if message["refusal"]:
            yield {"refusal": message["refusal"]}
        for call in message.get("tool_calls", ()):
            yield {"tool_calls": [{"index": 0, **call}]}

    def _choice(self, answer: Answer, request: Request) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": answer.shown, "refusal": None, "annotations": []}
        words, tool = self._WORDS, answer.called(request)
        if answer.ended == "refused":
            message |= {"content": None, "refusal": answer.text}
        elif tool:
            function = {"name": tool, "arguments": answer.shown}
            call = {"id": new_id("call_"), "type": "function", "function": function}
            message |= {"content": None, "tool_calls": [call]}
            if not isinstance(request.tool_choice, dict):
                words = {**words, "ok": "tool_calls"}  # a tool forced by name ends with "stop", a free choice with this
        return {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.ending(words)}


class OpenAIResponses(_OpenAI):
    """`POST /v1/responses`."""

    provider: ClassVar[str] = "responses"
    path: ClassVar[str] = "/v1/responses"

    _REASONS: ClassVar[dict[str, str]] = {
        "ok": "max_output_tokens",
        "cut_off": "max_output_tokens",
        "context_full": "max_output_tokens",
        "blocked": "content_filter",
    }

    def turns(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        if body.get("instructions"):
            yield "system", body["instructions"]
        given = body.get("input", "")
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            yield item.get("role", ""), content_text(item.get("content"))

    def forced_tool(self, body: Mapping[str, Any]) -> str | None:
        choice, tools = body.get("tool_choice"), body.get("tools") or ()
        if isinstance(choice, dict):
            return str(choice["name"])
        return str(tools[0]["name"]) if choice == "required" and tools else None

    def document(self, answer: Answer, request: Request) -> dict[str, Any]:
        tokens = answer.used(request)
        incomplete = answer.ended in ("cut_off", "context_full", "blocked")
        body = request.body
        return {
            "id": answer.response_id or new_id("resp_"),
            "object": "response",
            "created_at": int(time.time()),
            "status": "incomplete" if incomplete else "completed",
            "background": False,
            "error": None,
            "incomplete_details": {"reason": answer.ending(self._REASONS)} if incomplete else None,
            "instructions": body.get("instructions"),
            "max_output_tokens": body.get("max_output_tokens"),
            "model": answer.model or request.model,
            "output": list(self._output(answer, request, "incomplete" if incomplete else "completed")),
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
            "service_tier": answer.tier or self.tier(body),
            "store": False,
            "temperature": body.get("temperature", 1.0),
            "text": body.get("text") or {"format": {"type": "text"}},
            "tool_choice": body.get("tool_choice") or "auto",
            "tools": request.tools,
            "top_p": 1.0,
            "truncation": "disabled",
            "usage": {
                "input_tokens": tokens.input,
                "input_tokens_details": {"cached_tokens": tokens.cached, "cache_write_tokens": tokens.written},
                "output_tokens": tokens.output,
                "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
                "total_tokens": tokens.input + tokens.output,
            },
            "user": None,
            "metadata": {},
        }

    def _output(self, answer: Answer, request: Request, status: str) -> Iterator[dict[str, Any]]:
        if answer.thinking is not None:
            summary = [{"type": "summary_text", "text": answer.thinking}]
            yield {"id": new_id("rs_"), "type": "reasoning", "summary": summary}
        if answer.ended == "empty":
            return
        if answer.ended == "refused":
            content: list[dict[str, Any]] = [{"type": "refusal", "refusal": answer.text}]
        elif tool := answer.called(request):
            named = {"call_id": new_id("call_"), "name": tool, "arguments": answer.shown}
            yield {"id": new_id("fc_"), "type": "function_call", "status": status, **named}
            return
        elif not answer.shown:
            return
        else:
            content = [{"type": "output_text", "text": answer.shown, "annotations": [], "logprobs": []}]
        yield {"id": new_id("msg_"), "type": "message", "role": "assistant", "status": status, "content": content}
