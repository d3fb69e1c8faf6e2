"""A loopback LangSmith: the real client, `evaluate`, comparisons and the pytest plugin talk to it; it keeps state.

    with LangSmithServer() as server, tracing_context(enabled=True, client=server.client()):
        my_traced_function()
        assert server.tree() == ("my_traced_function", "chain", [])

Reads (`runs`, `feedback`, `tree()`, `trees()`, `text`) flush the clients made by `server.client()` first. A client of
somebody else's (one made from the environment) must be flushed by the test. `unknown` lists requests no route answers:
assert that it is empty. Filter expressions (`filter=`) are answered with 501, since nothing here reads them.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

import requests
import zstandard
from langsmith import Client

from support.langsmith_queries import Refused, run_tree
from support.langsmith_routes import ROUTES
from support.langsmith_store import LangSmithStore

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["LangSmithServer", "Request"]

_PART = re.compile(rb'name="([^"]+)"')


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request as it arrived; a multipart body is a mapping of part name to JSON."""

    method: str
    path: str
    query: Mapping[str, list[str]] = field(default_factory=dict)
    body: Any = None


class LangSmithServer:
    """A LangSmith API on a free port of 127.0.0.1, in threads of its own.

    Args:
        multipart: Whether `/info` offers `/runs/multipart`, else clients send to `/runs/batch`.
        compressed: Whether clients may send zstd.
    """

    def __init__(self, *, multipart: bool = True, compressed: bool = True) -> None:
        self.url = ""
        self.store = LangSmithStore()
        self.info = {
            "version": "0.16.0",
            "batch_ingest_config": {
                "use_multipart_endpoint": multipart,
                "size_limit": 100,
                "size_limit_bytes": 20_000_000,
                "scale_up_qsize_trigger": 1000,
                "scale_up_nthreads_limit": 16,
                "scale_down_nempty_trigger": 4,
            },
            "instance_flags": {"zstd_compression_enabled": compressed},
        }
        self._lock = threading.RLock()
        self._posted: list[Request] = []
        self._unknown: list[tuple[str, str]] = []
        self._clients: list[Client] = []
        self._running = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Begin to listen."""
        http = _Http(("127.0.0.1", 0), type("Handler", (_Handler,), {"langsmith": self}))
        self.url = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, name="langsmith-server")
        thread.start()
        self._running.callback(http.server_close)
        self._running.callback(thread.join)
        self._running.callback(http.shutdown)
        self._running.callback(self._close_clients)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the clients it made, then stop."""
        self._running.close()

    def client(self, **options: Any) -> Client:
        """Return a real client of this server; `options` go to its constructor. Closed with the server."""
        session = requests.Session()
        session.trust_env = False  # a proxy named in the environment is not asked for 127.0.0.1
        client = Client(**{"api_url": self.url, "api_key": "k", "session": session, **options})
        self._clients.append(client)
        return client

    def environment(self, **more: str) -> dict[str, str]:
        """Return the variables that point a process's own client here, tracing on."""
        here = {"LANGSMITH_ENDPOINT": self.url, "LANGSMITH_API_KEY": "k", "LANGSMITH_TRACING": "true"}
        return {**here, "NO_PROXY": "127.0.0.1", **more}

    @property
    def posted(self) -> list[Request]:
        """The requests received so far."""
        self.flush()
        with self._lock:
            return list(self._posted)

    @property
    def unknown(self) -> list[tuple[str, str]]:
        """Method and path of the requests no route answers."""
        self.flush()
        with self._lock:
            return list(self._unknown)

    @property
    def text(self) -> str:
        """Everything that was sent, as one text: what is not in it was not uploaded."""
        return json.dumps([request.body for request in self.posted], ensure_ascii=False)

    @property
    def runs(self) -> dict[str, dict[str, Any]]:
        """Run id -> what POST and PATCH told of the run."""
        self.flush()
        with self._lock:
            return self.store.runs()

    @property
    def feedback(self) -> list[dict[str, Any]]:
        """The feedback rows, in order of arrival."""
        self.flush()
        with self._lock:
            return [dict(row) for row in self.store.feedback.values()]

    def arrived(self, count: int) -> list[dict[str, Any]]:
        """Return the feedback rows once there are that many: `aevaluate` may return before its last ones are sent."""
        deadline = time.monotonic() + 20
        while len(self.feedback) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.feedback

    def named(self, name: str) -> list[dict[str, Any]]:
        """Return the runs of a name, in order of their start."""
        found = [run for run in self.runs.values() if run["name"] == name]
        return sorted(found, key=lambda run: str(run["dotted_order"]))

    def trees(self, project: str | None = None) -> list[tuple[Any, ...]]:
        """Return `(name, run_type, children)` of every trace, of one project if named, in order of their start."""
        runs = list(self.runs.values())
        if project is not None:
            wanted = self.store.project_named(project)["id"]
            runs = [run for run in runs if run["session_id"] == wanted]
        return run_tree(runs)

    def tree(self, project: str | None = None) -> tuple[Any, ...]:
        """Return `(name, run_type, children)` of the only trace."""
        (only,) = self.trees(project)
        return only

    def annotate(self, run_id: UUID | str, key: str, *, user: str = "ann", **row: Any) -> dict[str, Any]:
        """Add a feedback row as a person does on LangSmith's pages: source type `app`; `row`: score, value, comment."""
        with self._lock:
            session = self.store.run(str(run_id))["session_id"]
            source = {"type": "app", "metadata": None, "user_id": str(uuid5(NAMESPACE_URL, user)), "user_name": user}
            row = {"key": key, "run_id": str(run_id), "session_id": session, "feedback_source": source, **row}
            return self.store.add_feedback({"id": str(uuid4()), "trace_id": str(run_id), **row})

    def attach(self, dataset: str, name: str, *contents: bytes, mime_type: str = "image/png") -> None:
        """Attach a file to each example of a dataset, in order; clients fetch it from its presigned URL."""
        with self._lock:
            self.store.attach(dataset, name, contents, url=f"{self.url}/files", mime_type=mime_type)

    def flush(self) -> None:
        """Have the clients it made send what they hold."""
        for client in self._clients:
            client.flush()

    def answer(self, request: Request) -> Any:
        """Answer one request; what is returned is sent as JSON."""
        with self._lock:
            self._posted.append(request)
            for method, pattern, reply in ROUTES:
                if method == request.method and (found := pattern.fullmatch(request.path)):
                    return reply(self, request, **found.groupdict())
            self._unknown.append((request.method, request.path))
        raise Refused(404, f"no route for {request.method} {request.path}")

    def _close_clients(self) -> None:
        for client in self._clients:
            getattr(client, "close", client.cleanup)()  # before 0.9 or so there is no `close`


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class _Handler(BaseHTTPRequestHandler):
    langsmith: LangSmithServer

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urlsplit(self.path)
        status, reply, headers = 200, None, dict[str, str]()
        try:
            parsed = _parsed(body, self.headers.get("Content-Encoding", ""), self.headers.get("Content-Type", ""))
            told = Request(method=self.command, path=path.path, query=parse_qs(path.query), body=parsed)
            reply = self.langsmith.answer(told)
        except Refused as refused:
            status, reply, headers = refused.status, {"detail": str(refused)}, refused.headers
        except Exception as error:  # noqa: BLE001 - a fault of the server is the client's to show
            status, reply = 500, {"detail": repr(error)}
        content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream" if content is reply else "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # the client gave up
            self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


def _parsed(body: bytes, encoding: str, kind: str) -> Any:
    if encoding == "zstd":
        body = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(body), read_across_frames=True).read()
    elif encoding == "gzip":
        body = gzip.decompress(body)
    if kind.startswith("multipart/"):
        return dict(_parts(body, kind.partition("boundary=")[2].strip('"').encode()))
    return json.loads(body) if body else None


def _parts(body: bytes, boundary: bytes) -> Iterator[tuple[str, Any]]:
    for part in body.split(b"--" + boundary):
        head, _, content = part.partition(b"\r\n\r\n")
        if name := _PART.search(head):
            is_json = b"application/json" in head
            yield name[1].decode(), json.loads(content) if is_json else content.removesuffix(b"\r\n").decode("latin-1")
