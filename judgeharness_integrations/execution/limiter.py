"""Bounded concurrency: one limiter per judge model per process, whatever event loops its calls run in."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter, deque
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Limiter", "limiter_for"]

# Limiters whose slot the current call already holds: a judge may itself use a harness over the same model, and
# would wait for its own slot.
_held: ContextVar[frozenset[Limiter]] = ContextVar("judgeharness_held_limiters", default=frozenset())


class Limiter:
    """A semaphore that works across event loops and threads.

    Its capacity is the largest `max_concurrency` among the runs under way; each run also keeps to its own.
    """

    def __init__(self) -> None:
        """Start without runs."""
        self._lock = threading.RLock()  # garbage collection of a worker may release a slot at any moment
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
            self._hand_out()
        try:
            yield
        finally:
            with self._lock:
                self._runs -= Counter([max_concurrency])

    def hold(self) -> None:
        """Say that what the current task calls from now on is covered by the slots this task acquires."""
        _held.set(_held.get() | {self})

    async def acquire(self) -> None:
        """Wait for a slot."""
        with self._lock:
            if self._in_flight < self.capacity:
                self._in_flight += 1
                return
            loop = asyncio.get_running_loop()
            slot: asyncio.Future[None] = loop.create_future()
            entry = (loop, slot)
            self._waiting.append(entry)
        try:
            await slot
        except BaseException:
            with self._lock:
                waiting = entry in self._waiting
                if waiting:
                    self._waiting.remove(entry)
            if not waiting:  # the slot was already given to this call
                self.release()
            raise

    def release(self) -> None:
        """Give the slot back, or to whoever waits longest."""
        with self._lock:
            self._in_flight -= 1
            if self._waiting:
                self._hand_out()

    def _hand_out(self) -> None:
        """Give free slots to those who wait; the lock is held."""
        while self._waiting and self._in_flight < self.capacity:
            loop, slot = self._waiting.popleft()
            with suppress(RuntimeError):  # its event loop was closed: nobody waits there any more
                loop.call_soon_threadsafe(_wake, slot)
                self._in_flight += 1


def _wake(slot: asyncio.Future[None]) -> None:
    if not slot.done():
        slot.set_result(None)


_limiters: dict[str, Limiter] = {}
_guard = threading.Lock()


def limiter_for(model: str) -> Limiter:
    """Return the process's limiter of a judge model; a fresh one inside a call that holds a slot of it."""
    with _guard:
        limiter = _limiters.setdefault(model, Limiter())
    return Limiter() if limiter in _held.get() else limiter


def _forget() -> None:
    global _guard  # noqa: PLW0603 - another thread may have held it when the process was forked
    _guard = threading.Lock()
    _limiters.clear()


with suppress(AttributeError):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget)
