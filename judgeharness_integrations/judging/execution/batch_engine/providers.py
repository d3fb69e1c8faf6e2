"""The batch endpoints of OpenAI and Anthropic, through their own clients: submit, find again, watch, read, tidy up.

Only a submit may be paid twice, so it is never retried by a client: it was accepted, it was `Refused`, or nobody knows
(`Unsure`), and then the batch is looked for. OpenAI's carries our id in its metadata; Anthropic's carries nothing of
ours but the ids of its requests, which can be read once it has ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, wraps
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

from judgeharness_integrations._errors import NotInstalledError, UsageError
from judgeharness_integrations.verdictlog.sql.batches import BatchRecord

from ..retrying import is_transient, status_of

__all__ = ["Answer", "Lot", "Parked", "ParkedRequest", "Provider", "parking", "refused", "request_id"]

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


_EARLIER = timedelta(minutes=5)  # by which clocks may differ
_CONFLICTS = frozenset({408, 409})
_LONGEST = 300  # characters of a provider's message
_OURS = "judgeharness_batch"
_FULL = "token_limit_exceeded"  # of all that waits at OpenAI for this model
_STATUS = {  # https://docs.claude.com/en/api/errors
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
Why: TypeAlias = Literal["later", "smaller", "final"]
_WHY: Mapping[int, Why] = {HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "smaller", HTTPStatus.TOO_MANY_REQUESTS: "later"}


class Refused(Exception):  # noqa: N818 - a signal inside the engine
    """A batch was not accepted: it may be submitted `later`, `smaller`, or not at all."""

    def __init__(self, why: Why, message: str) -> None:
        """Keep why."""
        super().__init__(message)
        self.why = why


class Unsure(Exception):  # noqa: N818 - as above
    """Nobody knows whether a batch was accepted."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a batch is; `refused`: nothing of it was asked, and why."""

    ended: bool
    answered: int
    refused: Refused | None = None


class Batches(ABC):
    """The batch endpoint of a provider."""

    def __init__(self, client: Any, *, owned: bool) -> None:
        """Ask through a client of the provider's; one that is `owned` has connections of its own."""
        self._client, self._owned = client, owned

    async def close(self) -> None:
        """Close the connections, but for those of the judge."""
        if self._owned:
            await self._client.close()

    @abstractmethod
    async def submit(self, batch: str, run: str, requests: Mapping[str, ParkedRequest]) -> str:
        """Submit requests by their ids as the batch of our name, and return the provider's.

        Raises:
            Refused: it was not accepted.
            Unsure: nobody knows.

        """

    @abstractmethod
    async def find(self, record: BatchRecord, ids: Collection[str], known: Collection[str]) -> str | bool:
        """Return the provider's id of a batch that may have been accepted.

        False: it is not there; True: it may be one of those whose requests cannot be read yet. `known` are others.
        """

    @abstractmethod
    async def clear(self, record: BatchRecord) -> None:
        """Delete what was sent ahead of a batch that was not accepted."""

    @abstractmethod
    async def progress(self, found: str) -> Progress:
        """Return how far a batch is."""

    @abstractmethod
    def answers(self, found: str) -> AsyncIterator[tuple[str, Answer | None]]:
        """Yield the answers of a batch that has ended by id of their request, None for one it did not get to."""

    @abstractmethod
    async def cancel(self, found: str) -> None:
        """Have no more of a batch asked; what was answered until then is billed, and is in its answers."""

    @abstractmethod
    async def tidy(self, found: str) -> None:
        """Delete what the provider keeps of a batch that was read; what is gone already is gone."""


def batches_of(request: ParkedRequest) -> Batches:
    """Return the endpoint that takes a request, by the client that would have sent it where that is async."""
    kind, make = _client(request.provider)
    settings = {"api_key": request.key, "base_url": request.address, "default_headers": dict(request.headers)}
    if request.client is not None and not request.client.is_closed:
        with suppress(TypeError):  # it is of another library than this client's
            return kind(make(**settings, http_client=request.client), owned=False)
    return kind(make(**settings), owned=True)


def batches_at(provider: str, address: str) -> Batches:
    """Return the endpoint at an address by the provider's variables of the environment alone, with no judge.

    Raises:
        UsageError: there is no key, or it would go to another address than the variables name: a log may be anybody's.

    """
    kind, make = _client(provider)
    key, base = f"{provider.upper()}_API_KEY", f"{provider.upper()}_BASE_URL"
    if not os.environ.get(key):
        raise UsageError(f"set {key}, with which the batches at {address} are cancelled.")
    client = make()
    if str(client.base_url).rstrip("/") != address.rstrip("/"):
        raise UsageError(
            f"the log says that the batches are at {address}, and {key} is for {client.base_url}: set {base} to that "
            "address if you trust it with the key."
        )
    return kind(client, owned=True)


def _client(provider: str) -> tuple[Callable[..., Batches], Callable[..., Any]]:
    kind, name = {"openai": (OpenAIBatches, "AsyncOpenAI"), "anthropic": (AnthropicBatches, "AsyncAnthropic")}[provider]
    return kind, getattr(_loaded(provider), name)


def _loaded(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise NotInstalledError(f"the client of {name}, which submits batches,", "langchain") from None


def _error_line(error: Exception) -> str:
    return " ".join(str(error).split())[:_LONGEST].rstrip(".")


def _submit_failed(error: Exception) -> Refused | Unsure:
    status = status_of(error)
    if status is None or status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _CONFLICTS:
        return Unsure(_error_line(error))
    return Refused(_WHY.get(status, "final"), _error_line(error))


class OpenAIBatches(Batches):
    """OpenAI's: a file of requests, a batch of it, and files of answers and of errors."""

    async def submit(self, batch: str, run: str, requests: Mapping[str, ParkedRequest]) -> str:
        """Upload the requests and make a batch of them."""
        lines = [
            {"custom_id": one, "method": "POST", "url": asked.endpoint, "body": asked.body}
            for one, asked in requests.items()
        ]
        text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)  # escapes are longer than was counted
        content = text.encode(errors="backslashreplace")  # lone surrogates as JSON has them
        endpoint = next(iter(requests.values())).endpoint
        try:
            file = await self._client.files.create(file=(_file(batch), content), purpose="batch")
        except Exception as error:
            why: Why = "later" if is_transient(error) else _WHY.get(status_of(error) or 0, "final")
            raise Refused(why, _error_line(error)) from error
        try:
            made = await self._client.with_options(max_retries=0).batches.create(
                input_file_id=file.id,
                endpoint=endpoint,
                completion_window="24h",
                metadata={_OURS: batch, "judgeharness_run": run[:512]},
            )
        except Exception as error:
            failed = _submit_failed(error)
            if isinstance(failed, Refused):
                with suppress(Exception):  # why it was refused is what matters
                    await self._delete(file.id)
            raise failed from error
        return str(made.id)

    async def find(self, record: BatchRecord, ids: Collection[str], known: Collection[str]) -> str | bool:
        """Look for the batch whose metadata name ours."""
        del ids, known
        since = _since(record).timestamp()
        async for made in self._client.batches.list(limit=100):
            if made.created_at < since:
                break
            if (made.metadata or {}).get(_OURS) == record.batch:
                return str(made.id)
        return False

    async def clear(self, record: BatchRecord) -> None:
        """Delete the file of our name."""
        since = _since(record).timestamp()
        async for file in self._client.files.list(purpose="batch", order="desc"):
            if file.created_at < since:
                break
            if file.filename == _file(record.batch):
                await self._delete(file.id)

    async def progress(self, found: str) -> Progress:
        """Return how far it is; a batch that `failed` was read, and nothing of it asked."""
        made = await self._client.batches.retrieve(found)
        counts = made.request_counts
        answered = 0 if counts is None else counts.completed + counts.failed
        if made.status != "failed":
            return Progress(ended=made.status in ("completed", "expired", "cancelled"), answered=answered)
        errors = list(made.errors.data or ()) if made.errors is not None else []
        message = f"{errors[0].message} ({errors[0].code})" if errors else "it failed, and says not why"
        full = any(one.code == _FULL for one in errors)
        return Progress(ended=True, answered=0, refused=Refused("smaller" if full else "final", message))

    async def answers(self, found: str) -> AsyncIterator[tuple[str, Answer | None]]:
        """Read both files: requests that failed may be in either, whatever the counts say."""
        made = await self._client.batches.retrieve(found)
        for file in filter(None, (made.output_file_id, made.error_file_id)):
            content = await self._client.files.content(file)
            for line in _objects(content.text):
                yield str(line.get("custom_id")), _openai_answer(line)

    async def cancel(self, found: str) -> None:
        """Cancel it."""
        await self._client.batches.cancel(found)

    async def tidy(self, found: str) -> None:
        """Delete its three files."""
        made = await self._client.batches.retrieve(found)
        for file in filter(None, (made.input_file_id, made.output_file_id, made.error_file_id)):
            await self._delete(file)

    async def _delete(self, file: str) -> None:
        with _gone():
            await self._client.files.delete(file)


def _since(record: BatchRecord) -> datetime:
    """Return when the provider may have got it first."""
    return datetime.fromisoformat(record.created_at) - _EARLIER


def _file(batch: str) -> str:
    return f"{batch}.jsonl"


def _gone() -> Any:
    """Let pass what says that there is nothing of that name."""
    from openai import NotFoundError  # noqa: PLC0415 - it was loaded to get here

    return suppress(NotFoundError)


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of lines; whoever misses one that was garbled finds no answer."""
    for line in text.splitlines():
        with suppress(ValueError):
            if isinstance(found := json.loads(line), dict):
                yield found


def _openai_answer(line: Mapping[str, Any]) -> Answer | None:
    response = line.get("response") or {}
    status, body = response.get("status_code"), response.get("body")
    if not isinstance(status, int) or status < HTTPStatus.OK or not isinstance(body, dict):  # 0 occurs
        return None
    return Answer(status=status, body={**body, "service_tier": "batch"} if status == HTTPStatus.OK else body)


class AnthropicBatches(Batches):
    """Anthropic's: a list of requests, and one of results."""

    async def submit(self, batch: str, run: str, requests: Mapping[str, ParkedRequest]) -> str:
        """Submit the requests; neither our name nor the run's has a place there."""
        del batch, run
        asked = [{"custom_id": one, "params": dict(request.body)} for one, request in requests.items()]
        try:
            made = await self._client.with_options(max_retries=0).messages.batches.create(requests=asked)
        except Exception as error:
            raise _submit_failed(error) from error
        return str(made.id)

    async def find(self, record: BatchRecord, ids: Collection[str], known: Collection[str]) -> str | bool:
        """Look among newer batches of as many requests for one that answers one of ours."""
        since, unread = _since(record), False
        async for made in self._client.messages.batches.list(limit=100):
            if made.created_at < since:
                break
            counts = made.request_counts
            total = counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
            if made.id in known or total != record.requests:
                continue
            if made.processing_status != "ended":
                unread = True
            elif await self._first_id(made.id) in ids:
                return str(made.id)
        return unread

    async def clear(self, record: BatchRecord) -> None:
        """Delete nothing: requests go with their batch."""

    async def _first_id(self, found: str) -> str | None:
        async for line in await self._client.messages.batches.results(found):
            return str(line.custom_id)
        return None

    async def progress(self, found: str) -> Progress:
        """Return how far it is."""
        made = await self._client.messages.batches.retrieve(found)
        counts = made.request_counts
        answered = counts.succeeded + counts.errored
        return Progress(ended=made.processing_status == "ended", answered=answered)

    async def answers(self, found: str) -> AsyncIterator[tuple[str, Answer | None]]:
        """Read the results."""
        async for line in await self._client.messages.batches.results(found):
            yield str(line.custom_id), _anthropic_answer(line.result.to_dict())

    async def cancel(self, found: str) -> None:
        """Cancel it."""
        await self._client.messages.batches.cancel(found)

    async def tidy(self, found: str) -> None:
        """Delete it, which takes its results along."""
        from anthropic import NotFoundError  # noqa: PLC0415 - it was loaded to get here

        with suppress(NotFoundError):
            await self._client.messages.batches.delete(found)


def _anthropic_answer(result: Mapping[str, Any]) -> Answer | None:
    kind = result.get("type")
    if kind == "succeeded":
        return Answer(status=200, body=result["message"])
    if kind == "errored":
        error = result["error"]
        return Answer(status=_STATUS.get(error.get("error", {}).get("type"), 500), body=error)
    return None
