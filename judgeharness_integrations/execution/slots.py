"""A semaphore whose size may change and whose waiters may live in any event loop of any thread."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

__all__ = ["Slots"]


@dataclass(slots=True, eq=False)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    slot: asyncio.Future[None]
    served: bool = False


class Slots:
    """Up to `most` holders at a time; those who wait are served in order of arrival."""

    def __init__(self, most: int = 1, *, lock: threading.RLock | None = None) -> None:
        """Start empty; `lock` is shared with whoever decides about `most`."""
        # reentrant: garbage collection of an abandoned worker may release a slot at any moment
        self._lock = threading.RLock() if lock is None else lock
        self._most = most
        self._in_flight = 0
        self._waiting: deque[_Waiter] = deque()
        self._loops: set[weakref.ref[asyncio.AbstractEventLoop]] = set()  # in which slots were asked for
        self._last: Callable[[], asyncio.AbstractEventLoop | None] = _no_loop  # of these

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

    def acquire_at_once(self) -> bool:
        """Take a slot for the running event loop if one is free."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._last() is not loop:
                self._last = weakref.ref(loop)
                self._loops.add(self._last)
            if self._in_flight >= self._most:
                return False
            self._in_flight += 1
            return True

    async def acquire(self) -> None:
        """Wait for a slot."""
        if self.acquire_at_once():
            return
        loop = asyncio.get_running_loop()
        self._bury()
        with self._lock:
            if self.take():
                return
            waiter = _Waiter(loop, loop.create_future())
            self._waiting.append(waiter)
        try:
            await waiter.slot
        except BaseException:
            with self._lock, suppress(ValueError):
                self._waiting.remove(waiter)
            if waiter.served:  # the slot was already given to this call
                self.release()
            raise

    def release(self) -> None:
        """Give the slot back, or to whoever waits longest."""
        with self._lock:
            self._in_flight -= 1
            if self._waiting:
                self._hand_out()

    def _bury(self) -> None:
        """Have tasks give their slots back that ended with their event loop, which was closed over them."""
        with self._lock:
            closed = {one for one in self._loops if (loop := one()) is None or loop.is_closed()}
            if not closed:
                return
            self._loops -= closed
            self._last = _no_loop
            self._waiting = deque(waiter for waiter in self._waiting if not waiter.loop.is_closed())
        gc.collect()  # they are cycles by now; what they hold, they release

    def _hand_out(self) -> None:
        """Give free slots to those who wait; the lock is held."""
        while self._waiting and self._in_flight < self._most:
            waiter = self._waiting.popleft()
            with suppress(RuntimeError):  # its event loop was closed: nobody waits there any more
                waiter.loop.call_soon_threadsafe(_wake, waiter.slot)
                waiter.served = True
                self._in_flight += 1


def _no_loop() -> None:
    """Stand for a reference to a loop where there is none."""


def _wake(slot: asyncio.Future[None]) -> None:
    if not slot.done():
        slot.set_result(None)
