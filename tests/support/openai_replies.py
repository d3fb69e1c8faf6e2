"""What a request to the loopback server holds and what it can be answered with."""

from __future__ import annotations

import json
import re
import socket
import struct
import time
import uuid
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Request:
    """One call of `/v1/chat/completions` as it arrived.

    Attributes:
        number: Place in the order of arrival, from 0.
        body: The parsed JSON body, untouched.
        headers: The HTTP headers, names in lower case.
    """

    number: int
    body: dict[str, Any]
    headers: Mapping[str, str]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body.get("messages", ()))

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def temperature(self) -> float | None:
        return self.body.get("temperature")

    @property
    def response_format(self) -> dict[str, Any] | None:
        return self.body.get("response_format")

    @property
    def tools(self) -> list[dict[str, Any]]:
        return list(self.body.get("tools") or ())

    @property
    def tool_choice(self) -> str | dict[str, Any] | None:
        return self.body.get("tool_choice")

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def text(self) -> str:
        """The text of all messages, joined by newlines."""
        return "\n".join(_content_text(message) for message in self.messages)

    @property
    def system(self) -> str:
        """The text of the system messages."""
        return self._said_by("system", "developer")

    @property
    def user(self) -> str:
        """The text of the user's messages."""
        return self._said_by("user")

    @property
    def forced_tool(self) -> str | None:
        """The name of the tool the answer must call, if the request forces one."""
        if isinstance(self.tool_choice, dict):
            return str(self.tool_choice["function"]["name"])
        if self.tool_choice == "required" and self.tools:
            return str(self.tools[0]["function"]["name"])
        return None

    def _said_by(self, *roles: str) -> str:
        return "\n".join(_content_text(message) for message in self.messages if message.get("role") in roles)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of the server; made by the constructors below.

    Attributes:
        delay: Seconds before the first byte is sent.
    """

    delay: float = 0.0

    async def send(self, http: web.Request, request: Request) -> web.StreamResponse:
        """Write this reply to the connection `http` came from."""
        raise NotImplementedError

    @staticmethod
    def text(content: str, *, delay: float = 0.0) -> Reply:
        """A finished assistant message."""
        return _Completion(content=content, delay=delay)

    @staticmethod
    def json(value: Any, *, delay: float = 0.0) -> Reply:
        """A JSON message; where the request forces a tool, a call of that tool with these arguments."""
        return _Completion(content=json.dumps(value), as_tool_call=True, delay=delay)

    @staticmethod
    def tool_call(name: str, arguments: Mapping[str, Any], *, delay: float = 0.0) -> Reply:
        """A call of a tool the model was free to choose."""
        return _Completion(content=json.dumps(arguments), tool=name, delay=delay)

    @staticmethod
    def truncated(content: str, *, delay: float = 0.0) -> Reply:
        """A message, or the arguments of the forced tool, cut by the token limit: `finish_reason` is `length`."""
        return _Completion(content=content, as_tool_call=True, finish_reason="length", delay=delay)

    @staticmethod
    def refusal(why: str = "I can't help with that.", *, delay: float = 0.0) -> Reply:
        """The model declines: `message.refusal` is set and `content` is null."""
        return _Completion(content=None, declined=why, delay=delay)

    @staticmethod
    def content_filter(content: str = "", *, delay: float = 0.0) -> Reply:
        """A message stopped by the provider's filter: `finish_reason` is `content_filter`."""
        return _Completion(content=content, finish_reason="content_filter", delay=delay)

    @staticmethod
    def timeout(seconds: float) -> Reply:
        """A message that comes after `seconds`; the client is expected to have left by then."""
        return _Completion(content="too late", delay=seconds)

    @staticmethod
    def status(
        code: int,
        *,
        message: str = "scripted failure",
        error_code: str | None = None,
        retry_after: float | str | None = None,
        retry_after_ms: float | None = None,
        headers: Mapping[str, str] | None = None,
        delay: float = 0.0,
    ) -> Reply:
        """An HTTP error with OpenAI's error body.

        Args:
            code: The HTTP status.
            message: What the body says happened.
            error_code: The body's `code`, such as `insufficient_quota` or `context_length_exceeded`.
            retry_after: The `retry-after` header: seconds, or an HTTP date.
            retry_after_ms: The `retry-after-ms` header, milliseconds; OpenAI's client reads it first.
            headers: Further headers.
            delay: Seconds before the first byte is sent.
        """
        waits = {"retry-after": retry_after, "retry-after-ms": retry_after_ms}
        named = {name: str(wait) for name, wait in waits.items() if wait is not None}
        body = json.dumps(error_body(code, message, error_code))
        return _Body(body=body, code=code, headers={**named, **(headers or {})}, delay=delay)

    @staticmethod
    def garbage(*, delay: float = 0.0) -> Reply:
        """Status 200 and an HTML page, as a gateway in the way sends."""
        return _Body(body="<html><body>It works!</body></html>", content_type="text/html", delay=delay)

    @staticmethod
    def empty(*, delay: float = 0.0) -> Reply:
        """Status 200, JSON promised, no body."""
        return _Body(body="", delay=delay)

    @staticmethod
    def malformed(*, delay: float = 0.0) -> Reply:
        """Status 200, JSON promised, JSON that ends in the middle."""
        return _Body(body='{"id": "chatcmpl-', delay=delay)

    @staticmethod
    def reset(*, delay: float = 0.0) -> Reply:
        """The connection is reset without an answer."""
        return _Severed(delay=delay)

    @staticmethod
    def half_closed(*, delay: float = 0.0) -> Reply:
        """The connection is closed before the promised length of body was sent."""
        return _Severed(body=b'{"id": "chatcmpl-', delay=delay)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Completion(Reply):
    content: str | None
    declined: str | None = None
    finish_reason: str = "stop"
    as_tool_call: bool = False
    tool: str | None = None

    async def send(self, http: web.Request, request: Request) -> web.StreamResponse:
        completion = self.completion(request)
        if request.stream:
            return await _send_stream(http, request, completion)
        return web.json_response(completion, headers=_request_id(request))

    def completion(self, request: Request) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.content, "refusal": self.declined}
        finish_reason = self.finish_reason
        tool = self.tool or (request.forced_tool if self.as_tool_call else None)
        if tool:
            function = {"name": tool, "arguments": self.content}
            call = {"id": f"call_{uuid.uuid4().hex[:24]}", "type": "function", "function": function}
            message |= {"content": None, "tool_calls": [call]}
            if finish_reason == "stop" and not isinstance(request.tool_choice, dict):
                finish_reason = "tool_calls"  # a tool forced by name ends with "stop", a free choice of tools with this
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}],
            "usage": _usage(request.text, self.content or self.declined or ""),
            "system_fingerprint": "fp_loopback",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body(Reply):
    body: str
    code: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(self, http: web.Request, request: Request) -> web.StreamResponse:
        headers = {**_request_id(request), **self.headers}
        return web.Response(text=self.body, status=self.code, content_type=self.content_type, headers=headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Severed(Reply):
    body: bytes = b""

    async def send(self, http: web.Request, request: Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        if http.transport is None:  # the client left first
            return response
        if self.body:
            response.content_length = len(self.body) + 100
            await response.prepare(http)
            await response.write(self.body)
            http.transport.close()
        else:
            linger = struct.pack("ii", 1, 0)  # on, 0 s: close sends RST and not FIN
            http.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            http.transport.abort()
        return response


async def _send_stream(http: web.Request, request: Request, completion: dict[str, Any]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **_request_id(request)})
    await response.prepare(http)
    for chunk in _chunks(request, completion):
        await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    return response


def _chunks(request: Request, completion: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The completion as OpenAI streams it: the role, the pieces, the reason it ended, the usage where asked for."""
    shared = {key: completion[key] for key in ("id", "created", "model", "system_fingerprint")}
    shared["object"] = "chat.completion.chunk"
    choice = completion["choices"][0]
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in re.findall(r"\s*\S+\s*", message["content"] or "")]
    deltas += [{"refusal": message["refusal"]}] if message["refusal"] else []
    deltas += [{"tool_calls": [{"index": 0, **call}]} for call in message.get("tool_calls", ())]
    for delta in deltas:
        yield {**shared, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**shared, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield {**shared, "choices": [], "usage": completion["usage"]}


def _content_text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def _usage(prompt: str, answer: str) -> dict[str, int]:
    """Token counts with one word a token."""
    read, written = len(prompt.split()), len(answer.split())
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _request_id(request: Request) -> dict[str, str]:
    return {"x-request-id": f"req_{request.number}"}


def error_body(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    """The body OpenAI sends with an HTTP error."""
    kind = "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        kind, code = (code or "requests", code or "rate_limit_exceeded")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
