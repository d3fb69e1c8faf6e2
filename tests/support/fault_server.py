"""A loopback judge server that fails as providers do: a seeded share of each kind of fault, and budgets it holds to.

    with FaultServer(faults=twenty_percent(), room=16) as server:      # or FaultServerProcess, in a process of its own
        ...FaultJudge(server.url)...
    assert server.counts()["requests"] == ...

`python -m support.fault_server --faults 0.2 --room 16` prints its URL and serves until it is terminated.

POST /judge takes any JSON and answers `{"text": "...PASS"}`; what it answers depends on the JSON alone. POST
/v1/chat/completions answers in OpenAI's form. GET /counts returns the counts, POST /mark begins to count
`over_room_after_mark` and `over_rate_after_mark`. `answered` in /counts are the answers delivered, by digest of the
body asked: what a provider would bill.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import random
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

__all__ = ["FAULTS", "FaultServer", "FaultServerProcess", "twenty_percent"]

FAULTS = (
    "429_retry_after",
    "429",
    "500",
    "503",
    "reset",
    "half_closed",
    "timeout",
    "empty",
    "malformed",
    "refusal",
    "truncated",
)
SHOWN_AS_ANSWERS = frozenset(
    {"refusal", "truncated"}
)  # a 200 with a text: the judge has answered, if not with a verdict
_LONGEST_HANG_S = 60.0
_USAGE = {"prompt_tokens": 40, "completion_tokens": 10}


def twenty_percent(share: float = 0.2) -> dict[str, float]:
    """A share of all requests, spread evenly over the kinds of fault."""
    return dict.fromkeys(FAULTS, share / len(FAULTS))


@dataclass
class FaultPlan:
    """What goes wrong how often, and what the server has room for.

    `room`: requests in flight, more are answered with 429; `per_window`: requests in any `window_s` seconds, more are
    answered likewise, with the Retry-After after which there is room for as many again.
    """

    faults: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    latency_s: float = 0.02
    room: int | None = None
    per_window: int | None = None
    window_s: float = 60.0
    retry_after_s: float = 0.05


@dataclass
class Counts:
    """What came and what was answered."""

    requests: int = 0
    in_flight: int = 0
    peak: int = 0
    abandoned: int = 0  # the client went away before an answer that would have come
    over_room: int = 0
    over_rate: int = 0
    over_room_after_mark: int = 0
    over_rate_after_mark: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)


class _Service:
    """The server's mind: one per process, in one event loop."""

    def __init__(self, plan: FaultPlan) -> None:
        self.plan, self.counts = plan, Counts()
        self._chance = random.Random(plan.seed)  # noqa: S311 - a seeded plan
        self._arrivals: deque[float] = deque()
        self._marked = False
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    def snapshot(self) -> dict[str, Any]:
        counts = self.counts
        plain = {name: value for name, value in vars(counts).items() if isinstance(value, int)}
        return {**plain, "kinds": dict(counts.kinds), "answered": dict(counts.answered)}

    def mark(self) -> None:
        self._marked = True

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection; asyncio would log it as an error when such a task of its own is cancelled."""
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._connections.pop)

    async def close(self) -> None:
        """End every connection."""
        for writer in self._connections.values():
            writer.transport.abort()
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._request(reader, writer):
                    pass
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return False
        method, path, _ = head.split(" ", 2)
        lengths = [line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length")]
        body = await reader.readexactly(int(lengths[0])) if lengths else b""
        if path == "/counts":
            return await _send(writer, 200, json.dumps(self.snapshot()).encode())
        if path == "/mark":
            self.mark()
            return await _send(writer, 200, b"{}")
        if method != "POST":
            return await _send(writer, 404, b"{}")
        return await self._judged(reader, writer, body, chat=path.endswith("/chat/completions"))

    async def _judged(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes, *, chat: bool
    ) -> bool:
        self.counts.requests += 1
        refusal = self._over_budget()
        if refusal is not None:
            return await _send(writer, 429, b'{"error": "too many"}', refusal)
        self.counts.in_flight += 1
        self.counts.peak = max(self.counts.peak, self.counts.in_flight)
        try:
            kind = self._kind()
            self.counts.kinds[kind] += 1
            if kind != "timeout":
                await asyncio.sleep(self.plan.latency_s * self._chance.uniform(0.5, 1.5))
            if kind in ("reset", "half_closed", "timeout"):
                return await _break(kind, reader, writer)
            if reader.at_eof():
                self.counts.abandoned += 1
                return False
        finally:
            self.counts.in_flight -= 1
        if kind in ("ok", *SHOWN_AS_ANSWERS):
            key = hashlib.blake2b(body, digest_size=12).hexdigest()
            self.counts.answered[key] += 1
            return await _send(writer, 200, _answer(kind, key, chat=chat))
        if kind in ("empty", "malformed"):
            return await _send(writer, 200, b"" if kind == "empty" else b'{"text": "PA')
        headers = {"Retry-After": str(self.plan.retry_after_s)} if kind.endswith("retry_after") else {}
        return await _send(writer, int(kind[:3]), b'{"error": "as planned"}', headers)

    def _kind(self) -> str:
        drawn = self._chance.random()
        for kind, share in self.plan.faults.items():
            if (drawn := drawn - share) < 0:
                return kind
        return "ok"

    def _over_budget(self) -> dict[str, str] | None:
        """The headers of a 429 when this request is one too many."""
        counts, plan, now = self.counts, self.plan, time.monotonic()
        if plan.per_window is not None:
            while self._arrivals and self._arrivals[0] <= now - plan.window_s:
                self._arrivals.popleft()
            if len(self._arrivals) >= plan.per_window:
                counts.over_rate += 1
                counts.over_rate_after_mark += self._marked
                return {"Retry-After": f"{self._arrivals[-1] + plan.window_s - now + 0.001:.3f}"}
            self._arrivals.append(now)
        if plan.room is not None and counts.in_flight >= plan.room:
            counts.over_room += 1
            counts.over_room_after_mark += self._marked
            return {}
        return None


def _answer(kind: str, key: str, *, chat: bool) -> bytes:
    verdict = "PASS" if int(key, 16) % 3 else "FAIL"
    texts = {"refusal": "", "truncated": f"Both points hold.\nVerdict: {verdict[:2]}"}
    text, refusal = (
        texts.get(kind, f"Both points hold.\n{verdict}"),
        "I cannot judge this." if kind == "refusal" else None,
    )
    reason = "length" if kind == "truncated" else "stop"
    if not chat:
        return json.dumps({"text": text, "refusal": refusal, "finish_reason": reason, "usage": _USAGE}).encode()
    message = {"role": "assistant", "content": text, "refusal": refusal}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    usage = {**_USAGE, "total_tokens": sum(_USAGE.values())}
    document = {"id": f"chatcmpl-{key}", "object": "chat.completion", "created": 0, "model": "faulty", "usage": usage}
    return json.dumps({**document, "choices": [choice]}).encode()


async def _send(
    writer: asyncio.StreamWriter, status: int, body: bytes, headers: Mapping[str, str] | None = None
) -> bool:
    lines = [f"{name}: {value}\r\n" for name, value in (headers or {}).items()]
    head = (
        f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{''.join(lines)}\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    return True


async def _break(kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """End the connection as networks do; True is never returned."""
    if kind == "timeout":
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reader.read(1), _LONGEST_HANG_S)  # until the client gives up
    elif kind == "half_closed":
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n{"text": "Both')
        await writer.drain()
    else:
        own: socket.socket = writer.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing sends a reset
        writer.transport.abort()
    return False


async def _serve(plan: FaultPlan, port: int, started: Future[tuple[str, Any, _Service]]) -> None:
    service, stopped = _Service(plan), asyncio.Event()
    server = await asyncio.start_server(service.connected, "127.0.0.1", port, backlog=1024)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    loop = asyncio.get_running_loop()
    started.set_result((url, lambda: loop.call_soon_threadsafe(stopped.set), service))
    await stopped.wait()
    server.close()
    await service.close()


class FaultServer:
    """The server in a thread of this process; `options` are those of `FaultPlan`."""

    def __init__(self, *, port: int = 0, **options: Any) -> None:
        self.url = ""
        self._plan, self._port = FaultPlan(**options), port
        self._running = contextlib.ExitStack()
        self._service: _Service | None = None

    def __enter__(self) -> Self:
        started: Future[tuple[str, Any, _Service]] = Future()

        def run() -> None:
            try:
                asyncio.run(_serve(self._plan, self._port, started))
            except OSError as error:  # no such port to be had
                started.set_exception(error)

        thread = threading.Thread(target=run, name="fault-server")
        thread.start()
        self._running.callback(thread.join)
        self.url, stop, self._service = started.result(timeout=10)
        self._running.callback(stop)
        return self

    def __exit__(self, *raised: object) -> None:
        self._running.close()

    def counts(self) -> dict[str, Any]:
        return _fetch(f"{self.url}/counts")

    def mark(self) -> None:
        _fetch(f"{self.url}/mark", b"")


class FaultServerProcess:
    """The server in a process of its own; `options` are those of the command line: share of faults, room, ..."""

    def __init__(self, **options: Any) -> None:
        self.url = ""
        self._options = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        program = [sys.executable, "-m", "support.fault_server", *self._options]
        root = Path(__file__).parents[1]
        self._process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=root)  # noqa: S603
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError("the fault server did not start")
        return self

    def __exit__(self, *raised: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.communicate()

    def counts(self) -> dict[str, Any]:
        return _fetch(f"{self.url}/counts")

    def mark(self) -> None:
        _fetch(f"{self.url}/mark", b"")


def _fetch(url: str, body: bytes | None = None) -> dict[str, Any]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, body, timeout=30) as answer:
        document: dict[str, Any] = json.load(answer)
    return document


def _arguments() -> Iterator[tuple[str, type, Any]]:
    plan = FaultPlan()
    for name in ("seed", "latency_s", "window_s", "retry_after_s"):
        yield name, type(getattr(plan, name)), getattr(plan, name)
    for name in ("room", "per_window"):
        yield name, int, None


def main() -> None:
    """Serve until terminated; the URL is the first line printed."""
    parser = argparse.ArgumentParser(prog="python -m support.fault_server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--faults", type=float, default=0.0, help="share of requests that fail, all kinds alike")
    for name, kind, default in _arguments():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default)
    given = vars(parser.parse_args())
    port, share = given.pop("port"), given.pop("faults")
    started: Future[tuple[str, Any, _Service]] = Future()
    started.add_done_callback(lambda done: print(done.result()[0], flush=True))  # noqa: T201
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(FaultPlan(faults=twenty_percent(share), **given), port, started))


if __name__ == "__main__":
    main()
