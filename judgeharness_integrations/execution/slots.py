"""A semaphore whose size may change and whose waiters may live in any event loop of any thread."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import suppress

__all__ = ["Slots"]


class Slots:
    """Up to `most` holders at a time; those who wait are served in order of arrival."""

    def __init__(self, most: int = 1, *, lock: threading.RLock | None = None) -> None:
        """Start empty; `lock` is shared with whoever decides about `most`."""
        # reentrant: garbage collection of an abandoned worker may release a slot at any moment
        self._lock = threading.RLock() if lock is None else lock
        self._most = most
        self._in_flight = 0
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    def resize(self, most: int) -> None:
        """Allow `most` holders from now on; slots above it are not handed on when they are released."""
        with self._lock:
            self._most = most
            self._hand_out()

    def take(self) -> bool:
        """Take a slot if one is free."""
        with self._lock:
            if self._in_flight >= self._most:
                return False
            self._in_flight += 1
            return True

    async def acquire(self) -> None:
        """Wait for a slot."""
        with self._lock:
            if self.take():
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
        while self._waiting and self._in_flight < self._most:
            loop, slot = self._waiting.popleft()
            with suppress(RuntimeError):  # its event loop was closed: nobody waits there any more
                loop.call_soon_threadsafe(_wake, slot)
                self._in_flight += 1


def _wake(slot: asyncio.Future[None]) -> None:
    if not slot.done():
        slot.set_result(None)
