"""Bounded concurrency: one limiter per judge model per process, whatever event loops its calls run in."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter, deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Limiter", "limiter_for"]


class Limiter:
    """A semaphore that works across event loops and threads.

    Its capacity is the largest `max_concurrency` among the runs under way; each run also keeps to its own.
    """

    def __init__(self) -> None:
        """Start without runs."""
        self._lock = threading.Lock()
        self._in_flight = 0
        self._runs: Counter[int] = Counter()
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    @property
    def capacity(self) -> int:
        """How many calls may be in flight."""
        return max(self._runs, default=1)

    @contextmanager
    def run(self, max_concurrency: int) -> Iterator[None]:
        """Declare a run of up to `max_concurrency` calls at a time."""
        with self._lock:
            self._runs[max_concurrency] += 1
        try:
            yield
        finally:
            with self._lock:
                self._runs -= Counter([max_concurrency])

    async def acquire(self) -> None:
        """Wait for a slot."""
        with self._lock:
            if self._in_flight < self.capacity:
                self._in_flight += 1
                return
            loop = asyncio.get_running_loop()
            slot: asyncio.Future[None] = loop.create_future()
            self._waiting.append((loop, slot))
        try:
            await slot
        except asyncio.CancelledError:
            with self._lock:
                handed_over = (loop, slot) not in self._waiting
                if not handed_over:
                    self._waiting.remove((loop, slot))
            if handed_over:
                self.release()
            raise

    def release(self) -> None:
        """Give the slot back, or straight to whoever waits longest."""
        with self._lock:
            while self._waiting:
                loop, slot = self._waiting.popleft()
                if not loop.is_closed():
                    loop.call_soon_threadsafe(_wake, slot)
                    return
            self._in_flight -= 1


def _wake(slot: asyncio.Future[None]) -> None:
    if not slot.done():
        slot.set_result(None)


_limiters: dict[str, Limiter] = {}
_guard = threading.Lock()


def limiter_for(model: str) -> Limiter:
    """Return the process's limiter of a judge model."""
    with _guard:
        return _limiters.setdefault(model, Limiter())


os.register_at_fork(after_in_child=_limiters.clear)
