"""Requests on their way to a model, parked: read off the client as it sends them, and answered once a batch was.

A judge is asked inside `parking`. What its clients send there, through httpx as OpenAI's and Anthropic's do, is
answered from the answers that are there, or noted and given up with `Parked`, which ends the judge. Clients stay as
they were made: the seam is `send` of httpx's clients, since a copy of a client that could not be made would be asked as
it is, at the full price and unseen. Outside of such a block nothing changes.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, wraps
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

Provider: TypeAlias = Literal["openai", "anthropic"]

_LIBRARIES = ("httpx", "httpx2")
_ENDINGS: Mapping[str, Provider] = {"/chat/completions": "openai", "/responses": "openai", "/v1/messages": "anthropic"}
_OF_THE_CALL = frozenset(
    {"host", "connection", "accept", "accept-encoding", "user-agent", "authorization", "x-api-key"}
)
_MOST_OUTPUT = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_ID_BYTES = 16
_AZURE = "api-key"


class Parked(BaseException):
    """A request waits for a batch; no error that a client or a judge would handle, retry or turn into an answer."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a provider answered to one request of a batch: an HTTP status and the JSON of the body."""

    status: int
    body: Mapping[str, Any]

    @classmethod
    def missing(cls, why: str) -> Answer:
        """Return what stands for an answer that does not come, as an error no client tries again."""
        return cls(
            status=HTTPStatus.FAILED_DEPENDENCY, body={"type": "error", "error": {"type": "batch", "message": why}}
        )

    def to_json(self) -> str:
        """Return it as the journal keeps it."""
        return json.dumps({"status": self.status, "body": self.body})

    @classmethod
    def from_json(cls, text: str) -> Answer:
        """Return what `to_json` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True, kw_only=True)
class ParkedRequest:
    """A request as its client would have sent it, and how its provider is reached: address, key, further headers."""

    provider: Provider
    address: str
    endpoint: str
    key: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    size: int  # bytes
    digest: str
    client: Any  # the async client it was sent by; None where that is none

    @property
    def model(self) -> str:
        """The model it asks."""
        return str(self.body.get("model", ""))

    @property
    def most_output(self) -> int | None:
        """The tokens its answer has at most; None where it sets no limit."""
        return next((self.body[name] for name in _MOST_OUTPUT if isinstance(self.body.get(name), int)), None)

    @property
    def route(self) -> tuple[str, ...]:
        """What all requests of one batch have in common."""
        return self.provider, self.address, self.endpoint, self.model, self.key

    @classmethod
    def of(cls, request: Any, client: Any) -> ParkedRequest | str:
        """Return a request of httpx as it is parked, or why no batch can take it."""
        url, headers = str(request.url.copy_with(query=None)), dict(request.headers)
        ending = next((one for one in _ENDINGS if url.endswith(one)), None)
        if ending is None or _AZURE in headers:
            return f"it asks {request.url.host}{request.url.path}, which no batch of OpenAI or Anthropic takes"
        body = json.loads(request.content)
        if body.get("stream"):
            return "its model streams, which no batch does: make it with streaming=False"
        return cls(
            provider=_ENDINGS[ending],
            address=url.removesuffix(ending),
            endpoint=ending if ending.startswith("/v1") else f"/v1{ending}",
            key=headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer "),
            headers={name: value for name, value in headers.items() if _is_kept(name)},
            body=body,
            size=len(request.content),
            digest=hashlib.blake2b(request.content, digest_size=_ID_BYTES).hexdigest(),
            client=client,
        )


def _is_kept(name: str) -> bool:
    return name not in _OF_THE_CALL and not name.startswith(("content-", "x-stainless-"))


def request_id(slot: str, digest: str, number: int) -> str:
    """Return the id of a request: the sample it belongs to, its own bytes, and which of several like it it is."""
    told = f"{slot}|{digest}|{number}".encode()
    return f"jh-{hashlib.blake2b(told, digest_size=_ID_BYTES).hexdigest()}"


@dataclass
class Lot:
    """What one pass of a judge over one sample asked: served from `answers` (by id), or `parked`.

    `problem` says why a request of it cannot be in a batch; `seen` are the ids of all requests, and `last` is one.
    """

    slot: str
    answers: Mapping[str, Answer]
    parked: dict[str, ParkedRequest] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    problem: str | None = None
    last: ParkedRequest | None = None
    _like: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Any, client: Any) -> Answer:
        """Return the answer to a request.

        Raises:
            Parked: there is none yet, or no batch can take the request.

        """
        asked = ParkedRequest.of(request, client)
        if isinstance(asked, str):
            self.problem = asked
            raise Parked
        with self._lock:  # a judge may ask in threads
            one = request_id(self.slot, asked.digest, self._like[asked.digest])
            self._like[asked.digest] += 1
            self.seen.add(one)
            self.last = asked
            if (known := self.answers.get(one)) is not None:
                return known
            self.parked[one] = asked
        raise Parked


_LOT: ContextVar[Lot | None] = ContextVar("judgeharness_parked_requests", default=None)


@contextmanager
def parking(lot: Lot) -> Iterator[None]:
    """Answer from a lot, or park there, what is sent inside, in this task and the threads and tasks it starts.

    What ends because a request was parked ends here.
    """
    _watch_clients()
    token = _LOT.set(lot)
    try:
        yield
    except Parked:
        pass
    finally:
        _LOT.reset(token)


@cache
def _watch_clients() -> None:
    """Let the clients of httpx ask the lot, if there is one, before they send."""
    for name in _LIBRARIES:
        if find_spec(name) is not None:
            library = import_module(name)
            library.AsyncClient.send = _watched_async(library.AsyncClient.send, library.Response)
            library.Client.send = _watched(library.Client.send, library.Response)


def _watched_async(send: Callable[..., Awaitable[Any]], response: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(send)
    async def asking(client: Any, request: Any, **options: Any) -> Any:
        lot = _LOT.get()
        if lot is None or request.method != "POST":
            return await send(client, request, **options)
        await request.aread()
        return _served(lot.answer(request, client), request, response)

    return asking


def _watched(send: Callable[..., Any], response: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(send)
    def asking(client: Any, request: Any, **options: Any) -> Any:
        lot = _LOT.get()
        if lot is None or request.method != "POST":
            return send(client, request, **options)
        request.read()
        return _served(lot.answer(request, None), request, response)

    return asking


def _served(answer: Answer, request: Any, response: Callable[..., Any]) -> Any:
    """Return an answer as the client's response; whether it is asked again is not for the client to decide."""
    return response(answer.status, headers={"x-should-retry": "false"}, json=answer.body, request=request)


def refused(judge: str, problem: str) -> str:
    """Return the sentence of a judge that no batch can ask."""
    return f"judge {judge!r} cannot be asked by batch: {problem}; use the engine local."


__all__ = ["Answer", "Lot", "Parked", "ParkedRequest", "Provider", "parking", "refused", "request_id"]
