"""What a request to the loopback server can be answered with, in the shape of the provider it was sent to."""

from __future__ import annotations

import json
import socket
import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from aiohttp import web

from judgeharness_integrations.judging.marks import CODE, code_in
from support.provider_wire import Answer, Billed, Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Answer", "Reply", "Request"]

_CODE = "{code}"

OK = 200


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

    def document(self, request: Request) -> tuple[int, dict[str, Any]]:
        """The status and the body, as a batch reports them."""
        raise NotImplementedError

    def billed(self, request: Request) -> Billed | None:
        """What the provider bills for this reply, if it bills anything."""
        del request
        return None

    @staticmethod
    def of(answer: Answer, *, delay: float = 0.0) -> Reply:
        """A scripted answer; the constructors below are the usual ones."""
        return _Answered(answer=answer, delay=delay)

    @staticmethod
    def text(content: str, *, delay: float = 0.0) -> Reply:
        """A finished assistant message; `{code}` in it is the code of the case that the request announces."""
        return Reply.of(Answer(text=content), delay=delay)

    @staticmethod
    def json(value: Any, *, delay: float = 0.0) -> Reply:
        """A JSON message; where the request forces a tool, a call of that tool with these arguments.

        Where the schema asks for the code of the case, the object has it.
        """
        return Reply.of(Answer(arguments=json.dumps(value)), delay=delay)

    @staticmethod
    def tool_call(name: str, arguments: Mapping[str, Any], *, delay: float = 0.0) -> Reply:
        """A call of a tool the model was free to choose."""
        return Reply.of(Answer(arguments=json.dumps(arguments), tool=name), delay=delay)

    @staticmethod
    def truncated(content: str, *, delay: float = 0.0) -> Reply:
        """A message, or the arguments of the forced tool, cut by the token limit: `finish_reason` is `length`."""
        return Reply.of(Answer(arguments=content, ended="cut_off"), delay=delay)

    @staticmethod
    def refusal(why: str = "I can't help with that.", *, delay: float = 0.0) -> Reply:
        """The model declines: `message.refusal` is set and `content` is null."""
        return Reply.of(Answer(text=why, ended="refused"), delay=delay)

    @staticmethod
    def content_filter(content: str = "", *, delay: float = 0.0) -> Reply:
        """A message stopped by the provider's filter: `finish_reason` is `content_filter`."""
        return Reply.of(Answer(text=content, ended="blocked"), delay=delay)

    @staticmethod
    def timeout(seconds: float) -> Reply:
        """A message that comes after `seconds`; the client is expected to have left by then."""
        return Reply.text("too late", delay=seconds)

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
        """An HTTP error with the provider's error body.

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
        told = (message, error_code)
        return _Failed(code=code, told=told, headers={**named, **(headers or {})}, delay=delay)

    @staticmethod
    def overloaded() -> Reply:
        """Anthropic's 529."""
        return Reply.status(529, message="Overloaded")

    @staticmethod
    def tool_not_forced() -> Reply:
        """The 400 of a model that takes no forced tool, in the words of Claude Opus 5.5."""
        return Reply.status(400, message='tool_choice: type "tool" and "any" are not supported for this model.')

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
class _Answered(Reply):
    answer: Answer

    async def send(self, http: web.Request, request: Request) -> web.StreamResponse:
        status, document = self.document(request)
        if request.stream and status == OK:
            return await _send_stream(http, request, request.wire.chunks(document, request))
        headers = {**_request_id(request), **request.wire.headers(self.answer, request)}
        return web.json_response(document, status=status, headers=headers)

    def document(self, request: Request) -> tuple[int, dict[str, Any]]:
        return request.wire.render(self._coded(request), request)

    def _coded(self, request: Request) -> Answer:
        """The answer with the code that the request announces, and in an object where its schema asks for one."""
        code, answer = code_in(request.text), self.answer
        if code is None:
            return answer
        answer = replace(answer, text=answer.text.replace(_CODE, code))
        asked = f'"{CODE}": {{' in json.dumps([request.response_format, request.tools])
        try:
            value = json.loads(answer.arguments) if asked and isinstance(answer.arguments, str) else None
        except ValueError:  # cut off
            value = None
        return replace(answer, arguments=json.dumps({**value, CODE: code})) if isinstance(value, dict) else answer

    def billed(self, request: Request) -> Billed | None:
        if request.wire.render(self.answer, request)[0] != OK:
            return None
        return Billed(
            number=request.number,
            provider=request.wire.provider,
            model=self.answer.model or request.model,
            tier=self.answer.tier or request.wire.tier(request.body),
            tokens=request.wire.billed(self.answer, request),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failed(Reply):
    code: int
    told: tuple[str, str | None]
    headers: Mapping[str, str]

    async def send(self, http: web.Request, request: Request) -> web.StreamResponse:
        _, body = self.document(request)
        return web.json_response(body, status=self.code, headers={**_request_id(request), **self.headers})

    def document(self, request: Request) -> tuple[int, dict[str, Any]]:
        return self.code, request.wire.failure(self.code, *self.told)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body(Reply):
    body: str
    content_type: str = "application/json"

    async def send(self, http: web.Request, request: Request) -> web.StreamResponse:
        return web.Response(text=self.body, content_type=self.content_type, headers=_request_id(request))


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


async def _send_stream(http: web.Request, request: Request, chunks: Iterable[dict[str, Any]]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **_request_id(request)})
    await response.prepare(http)
    for chunk in chunks:
        await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    return response


def _request_id(request: Request) -> dict[str, str]:
    return {"x-request-id": f"req_{request.number}"}
