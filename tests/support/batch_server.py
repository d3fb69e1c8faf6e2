"""The batch endpoints of OpenAI and Anthropic on the loopback server, and what goes wrong there.

    with BatchServer([Reply.text("[[A]]")], Faults(expired=3)) as server: ...
    assert set(server.finish().values()) == {1}

A batch ends when it was looked at `polls` times. Results come in the reverse order of the requests. A row whose reply
is no 200 stands in OpenAI's error file, or as `errored` among Anthropic's results.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aiohttp import web

from support.openai_replies import Request
from support.provider_server import ProviderServer, Script
from support.provider_wire import new_id
from support.wire_anthropic import Anthropic
from support.wire_openai import OpenAIChat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.provider_wire import Wire

__all__ = ["BatchServer", "Faults"]

_DAY = 86_400
_OK = 200


@dataclass
class Faults:
    """What goes wrong; numbers count down as they happen.

    Attributes:
        polls: How often a batch is looked at before it has ended.
        expired: The first batch ends with so many requests unanswered.
        missing: The first batch leaves out so many results, which were answered.
        doubled: Whether every result is there twice, the second time another one.
        hidden: Whether failed rows stand among the good ones of a batch that counts 0 failed.
        zero: So many rows of the first batch have the status 0.
        dropped: So many submits are accepted without an answer: the connection is dropped.
        lost: So many submits are not accepted, and the connection is dropped.
        busy: So many submits are refused with 429.
        unbatched: Models that are not batched.
        most: Requests that may wait at a time, all batches together.
        largest: Requests a batch may have; one with more is a 413.
        heaviest: Bytes a file may have; one with more is a 413.
        deleting_s: Seconds it takes to delete.
    """

    polls: int = 1
    expired: int = 0
    missing: int = 0
    doubled: bool = False
    hidden: bool = False
    zero: int = 0
    dropped: int = 0
    lost: int = 0
    busy: int = 0
    unbatched: frozenset[str] = frozenset()
    most: int = 10**9
    largest: int = 10**9
    heaviest: int = 10**9
    deleting_s: float = 0.0


@dataclass
class _Batch:
    id: str
    wire: Wire
    requests: dict[str, dict[str, Any]]
    number: int
    metadata: dict[str, str] | None = None
    input_file: str | None = None
    created: float = field(default_factory=time.time)
    status: str = "in_progress"
    looks: int = 0
    error: tuple[str, str] | None = None
    rows: list[tuple[str, int, dict[str, Any]]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    cancelled: bool = False

    @property
    def ended(self) -> bool:
        return self.status != "in_progress"


class BatchServer(ProviderServer):
    """A server of models that takes batches, too. `paid` counts answers so far by the id of their request."""

    def __init__(self, script: Script, faults: Faults | None = None) -> None:
        super().__init__(script)
        self.faults = faults or Faults()
        self.paid: Counter[str] = Counter()
        self.batches: dict[str, _Batch] = {}
        self.files: dict[str, bytes] = {}
        self.uploads: dict[str, dict[str, Any]] = {}  # what is told of files that were uploaded
        self.seen: list[str] = []  # what was asked of the endpoints
        self._numbers = itertools.count()

    def _add_routes(self, router: web.UrlDispatcher) -> None:
        super()._add_routes(router)
        openai, anthropic = OpenAIChat(), Anthropic()
        router.add_post("/v1/files", self._upload)
        router.add_get("/v1/files", self._list_files)
        router.add_get("/v1/files/{id}/content", self._content)
        router.add_delete("/v1/files/{id}", self._delete_file)
        router.add_post("/v1/batches", self._create_openai)
        router.add_get("/v1/batches", self._listing(openai))
        router.add_get("/v1/batches/{id}", self._found(openai))
        router.add_post("/v1/batches/{id}/cancel", self._cancelling(openai))
        router.add_post("/v1/messages/batches", self._create_anthropic)
        router.add_get("/v1/messages/batches", self._listing(anthropic))
        router.add_get("/v1/messages/batches/{id}", self._found(anthropic))
        router.add_post("/v1/messages/batches/{id}/cancel", self._cancelling(anthropic))
        router.add_get("/v1/messages/batches/{id}/results", self._results)
        router.add_delete("/v1/messages/batches/{id}", self._delete_batch)

    @property
    def submits(self) -> int:
        """How many batches were accepted."""
        return len(self.batches)

    def finish(self) -> Counter[str]:
        """Return what is paid, by id of the request, once every batch that was accepted has ended."""
        for batch in list(self.batches.values()):
            if not batch.ended:
                self._end(batch)
        return self.paid

    async def _upload(self, http: web.Request) -> web.Response:
        form = await http.post()
        upload: Any = form["file"]
        one, content = new_id("file-"), upload.file.read()
        self.seen.append("upload")
        if len(content) > self.faults.heaviest:
            return web.json_response(OpenAIChat().failure(413, "too large"), status=413)
        self.files[one] = content
        told = {"id": one, "object": "file", "bytes": len(self.files[one]), "created_at": int(time.time())}
        self.uploads[one] = {**told, "filename": upload.filename, "purpose": "batch", "status": "processed"}
        return web.json_response(self.uploads[one])

    async def _list_files(self, _: web.Request) -> web.Response:
        self.seen.append("list")
        data = [told for one, told in reversed(self.uploads.items()) if one in self.files]
        return web.json_response({"object": "list", "data": data, "has_more": False})

    async def _content(self, http: web.Request) -> web.Response:
        self.seen.append("read")
        found = self.files.get(http.match_info["id"])
        return web.Response(status=404) if found is None else web.Response(body=found)

    async def _delete_file(self, http: web.Request) -> web.Response:
        self.seen.append("delete")
        await asyncio.sleep(self.faults.deleting_s)
        one = http.match_info["id"]
        if self.files.pop(one, None) is None:
            return web.json_response(OpenAIChat().failure(404, "no such file"), status=404)
        return web.json_response({"id": one, "object": "file", "deleted": True})

    async def _create_openai(self, http: web.Request) -> web.StreamResponse:
        body = await http.json()
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        requests = {line["custom_id"]: line["body"] for line in lines}
        wire = OpenAIChat()
        return await self._create(http, wire, requests, metadata=body["metadata"], input_file=body["input_file_id"])

    async def _create_anthropic(self, http: web.Request) -> web.StreamResponse:
        body = await http.json()
        requests = {one["custom_id"]: one["params"] for one in body["requests"]}
        unbatched = {str(one["model"]) for one in requests.values()} & self.faults.unbatched
        if unbatched:
            told = Anthropic().failure(400, f"{unbatched.pop()} does not support batches")
            return web.json_response(told, status=400)
        return await self._create(http, Anthropic(), requests)

    async def _create(
        self, http: web.Request, wire: Wire, requests: dict[str, dict[str, Any]], **facts: Any
    ) -> web.StreamResponse:
        self.seen.append("create")
        if len(requests) > self.faults.largest:
            return web.json_response(wire.failure(413, "too large"), status=413)
        if self.faults.busy:
            self.faults.busy -= 1
            return web.json_response(wire.failure(429, "too many batches"), status=429)
        if self.faults.lost:
            self.faults.lost -= 1
            return self._dropped(http)
        batch = _Batch(new_id("batch_"), wire, requests, next(self._numbers), **facts)
        waiting = sum(len(one.requests) for one in self.batches.values() if not one.ended)
        self.batches[batch.id] = batch
        if unbatched := {str(one["model"]) for one in requests.values()} & self.faults.unbatched:
            batch.status, batch.error = "failed", ("model_not_found", f"{unbatched.pop()} is not supported by batches")
        elif waiting + len(requests) > self.faults.most:
            batch.status, batch.error = "failed", ("token_limit_exceeded", "Enqueued token limit reached")
        if self.faults.dropped:
            self.faults.dropped -= 1
            return self._dropped(http)
        return web.json_response(self._told(batch, http))

    @staticmethod
    def _dropped(http: web.Request) -> web.StreamResponse:
        if http.transport is not None:
            http.transport.abort()
        return web.Response()

    def _listing(self, wire: Wire) -> Callable[[web.Request], Any]:
        async def answer(http: web.Request) -> web.Response:
            self.seen.append("list")
            mine = [one for one in self.batches.values() if one.wire.provider == wire.provider]
            for batch in mine:
                self._look(batch)
            data = [self._told(one, http) for one in reversed(mine)]
            ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {}
            return web.json_response({"object": "list", "data": data, "has_more": False, **ends})

        return answer

    def _found(self, wire: Wire) -> Callable[[web.Request], Any]:
        async def answer(http: web.Request) -> web.Response:
            batch = self.batches.get(http.match_info["id"])
            if batch is None:
                return web.json_response(wire.failure(404, "no such batch"), status=404)
            self._look(batch)
            return web.json_response(self._told(batch, http))

        return answer

    def _look(self, batch: _Batch) -> None:
        self.seen.append("look")
        batch.looks += 1
        if not batch.ended and (batch.cancelled or batch.looks >= self.faults.polls):
            self._end(batch)

    def _cancelling(self, wire: Wire) -> Callable[[web.Request], Any]:
        async def answer(http: web.Request) -> web.Response:
            batch = self.batches[http.match_info["id"]]
            if batch.ended:
                return web.json_response(wire.failure(400, "it has ended"), status=400)
            batch.cancelled = True
            self.seen.append("cancel")
            return web.json_response(self._told(batch, http))

        return answer

    async def _results(self, http: web.Request) -> web.Response:
        self.seen.append("read")
        batch = self.batches[http.match_info["id"]]
        lines = [
            json.dumps({"custom_id": one, "result": self._result(status, body)}) for one, status, body in batch.rows
        ]
        return web.Response(text="\n".join(lines))

    async def _delete_batch(self, http: web.Request) -> web.Response:
        self.seen.append("delete")
        await asyncio.sleep(self.faults.deleting_s)
        if self.batches.pop(http.match_info["id"], None) is None:
            return web.json_response(Anthropic().failure(404, "no such batch"), status=404)
        return web.json_response({"id": http.match_info["id"], "type": "message_batch_deleted"})

    @staticmethod
    def _result(status: int, body: dict[str, Any]) -> dict[str, Any]:
        if status in (0, 1):
            return {"type": "canceled" if status else "expired"}
        return {"type": "succeeded", "message": body} if status == _OK else {"type": "errored", "error": body}

    def _end(self, batch: _Batch) -> None:
        """Answer what the batch answers; a cancelled one has answered half of it."""
        asked = list(batch.requests.items())
        first = batch.number == 0
        left = len(asked) // 2 if batch.cancelled else self.faults.expired if first else 0
        answered, unanswered = asked[: len(asked) - left], asked[len(asked) - left :]
        rows = [(one, *self._row(batch, one, body)) for one, body in answered]
        rows = rows[self.faults.missing if first else 0 :]
        zero = self.faults.zero if first else 0
        rows = [(one, 0, {}) for one, *_ in rows[:zero]] + rows[zero:]
        rows += [(one, int(batch.cancelled), {}) for one, _ in unanswered]
        batch.rows = [*reversed(rows), *(self._twice(rows) if self.faults.doubled else ())]
        batch.status = "cancelled" if batch.cancelled else "expired" if left else "completed"
        self._file_rows(batch)

    def _row(self, batch: _Batch, one: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self._lock:
            request = Request(number=len(self._requests), body=body, headers={}, path=batch.wire.path, wire=batch.wire)
            self._requests.append(request)
        reply = self._reply(request)
        status, document = reply.document(request)
        if (billed := reply.billed(request)) is not None:
            self._bill(replace(billed, tier="batch"))
        if batch.wire.provider == "anthropic" and status == _OK:
            document["usage"]["service_tier"] = "batch"
        self.paid[one] += status == _OK
        return status, document

    @staticmethod
    def _twice(rows: list[tuple[str, int, dict[str, Any]]]) -> Iterator[tuple[str, int, dict[str, Any]]]:
        return ((one, 500, {"error": {"message": "a second answer"}}) for one, *_ in rows)

    def _file_rows(self, batch: _Batch) -> None:
        """Write OpenAI's files."""
        if batch.input_file is None:
            return
        kinds: dict[str, list[str]] = {"output": [], "error": []}
        for one, status, body in batch.rows:
            good = status == _OK or self.faults.hidden
            line: dict[str, Any] = {"id": new_id("batch_req_"), "custom_id": one, "error": None}
            line["response"] = {"status_code": status, "request_id": new_id("req_"), "body": body}
            if status in (0, 1) and not good:
                line |= {"response": None, "error": {"code": "batch_expired", "message": "it was not executed in time"}}
            kinds["output" if good else "error"].append(json.dumps(line))
        for kind, lines in kinds.items():
            if lines:
                batch.files[kind] = new_id("file-")
                self.files[batch.files[kind]] = "\n".join(lines).encode()

    def _told(self, batch: _Batch, http: web.Request) -> dict[str, Any]:
        good = sum(status == _OK or self.faults.hidden for _, status, _ in batch.rows)
        counts = {"total": len(batch.requests), "completed": good, "failed": len(batch.rows) - good}
        if batch.wire.provider == "openai":
            data = [] if batch.error is None else [{"code": batch.error[0], "message": batch.error[1]}]
            return {
                "id": batch.id,
                "object": "batch",
                "endpoint": "/v1/chat/completions",
                "completion_window": "24h",
                "status": batch.status,
                "created_at": int(batch.created),
                "input_file_id": batch.input_file,
                "output_file_id": batch.files.get("output"),
                "error_file_id": batch.files.get("error"),
                "errors": {"object": "list", "data": data} if data else None,
                "request_counts": counts,
                "metadata": batch.metadata,
            }
        left = len(batch.requests) - len(batch.rows) if not batch.ended else 0
        kinds = Counter(self._result(status, {})["type"] for _, status, _ in batch.rows[: len(batch.requests)])
        lost = len(batch.requests) - left - sum(kinds.values())
        tally = {kind: kinds[kind] for kind in ("succeeded", "errored", "canceled", "expired")}
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if batch.ended else "in_progress",
            "request_counts": {"processing": left, **tally, "succeeded": tally["succeeded"] + lost},
            "created_at": _time(batch.created),
            "expires_at": _time(batch.created + _DAY),
            "ended_at": _time(batch.created) if batch.ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"http://{http.host}/v1/messages/batches/{batch.id}/results" if batch.ended else None,
        }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
