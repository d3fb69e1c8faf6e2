"""A judge behind HTTP that counts what it is asked: `GET /CASE/PERTURBATION/REPETITION` gives a verdict."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from typing import TYPE_CHECKING, Self

from support.loopback_cases import shown_verdict

if TYPE_CHECKING:
    from types import TracebackType

    from support.loopback_cases import Slot

__all__ = ["CountingServer"]

_PATIENCE_S = 60.0


class CountingServer:
    """Serves in a thread of its own, each answer after a random delay.

    Args:
        seed: Seed of the delays.
        delay_s: The shortest and the longest delay of an answer.
    """

    def __init__(self, *, seed: int = 0, delay_s: tuple[float, float] = (0.001, 0.010)) -> None:
        self.port = 0
        self.requests: Counter[Slot] = Counter()
        self._random = random.Random(seed)  # noqa: S311
        self._delay_s = delay_s
        self._answered_up_to: int | None = None  # requests that come later are held
        self._open = 0  # connections
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._moved: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="counting-server", daemon=True)
        self._ready = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(_PATIENCE_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE_S)

    @property
    def total(self) -> int:
        """How many requests arrived."""
        with self._changed:
            return self.requests.total()

    def counts(self) -> Counter[Slot]:
        """Return how often each probe was asked."""
        with self._changed:
            return Counter(self.requests)

    def hold_after(self, count: int | None) -> None:
        """Answer no request after the first `count` of all that ever came; None answers every one, also those held."""

        def move() -> None:
            self._answered_up_to = count
            assert self._moved is not None
            self._moved.set()
            self._moved.clear()

        self._loop.call_soon_threadsafe(move)

    def await_requests(self, count: int) -> None:
        """Wait until so many requests have come in all."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.requests.total() >= count, _PATIENCE_S):
                raise TimeoutError(f"{self.requests.total()} of {count} requests came")

    def await_idle(self) -> None:
        """Wait until every request that was sent is counted: its client has closed the connection, or is dead."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._open == 0, _PATIENCE_S):
                raise TimeoutError(f"{self._open} connections stay open")

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(self._listen())
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in (left := asyncio.all_tasks(self._loop)):
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        self._moved = asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._note(opened=1)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await self._answer(head.decode(), writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client left, or was killed; or the server ends
        finally:
            writer.close()
            self._note(opened=-1)

    async def _answer(self, head: str, writer: asyncio.StreamWriter) -> None:
        case_id, perturbation, repetition = head.split(" ", 2)[1].lstrip("/").split("/")
        slot = (case_id, perturbation, int(repetition))
        place = self._note(slot)
        while self._answered_up_to is not None and place > self._answered_up_to:
            assert self._moved is not None
            await self._moved.wait()
        await asyncio.sleep(self._random.uniform(*self._delay_s))
        verdict = shown_verdict(slot)
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(verdict)}\r\n\r\n{verdict}".encode())
        await writer.drain()

    def _note(self, slot: Slot | None = None, *, opened: int = 0) -> int:
        with self._changed:
            self._open += opened
            if slot is not None:
                self.requests[slot] += 1
            self._changed.notify_all()
            return self.requests.total()
