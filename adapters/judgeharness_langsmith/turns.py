"""Equal runs, which are one case, one after the other: the next finds the answers of the one before in the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from threading import Lock

__all__ = ["Turns"]


class Turns:
    """Who measures which case; `needed` where measurements meet, in a run of a log that has a name."""

    def __init__(self, *, needed: bool) -> None:
        """Begin with nobody."""
        self._needed = needed
        self._lock = Lock()
        self._going: dict[str, Future[None]] = {}

    @contextmanager
    def of(self, case_id: str) -> Iterator[None]:
        """Wait until nobody measures a case; not in an event loop, which may be what the other one runs in."""
        while (other := self._take(case_id)) is not None:
            if _in_a_loop():
                yield
                return
            other.result()
        try:
            yield
        finally:
            self._leave(case_id)

    @asynccontextmanager
    async def aof(self, case_id: str) -> AsyncGenerator[None, None]:
        """Wait until nobody measures a case."""
        while (other := self._take(case_id)) is not None:
            await asyncio.shield(asyncio.wrap_future(other))
        try:
            yield
        finally:
            self._leave(case_id)

    def _take(self, case_id: str) -> Future[None] | None:
        """Take a case; where somebody has it, return what ends with that."""
        with self._lock:
            if self._needed and (other := self._going.get(case_id)) is not None:
                return other
            self._going[case_id] = Future()
            return None

    def _leave(self, case_id: str) -> None:
        with self._lock:
            ended = self._going.pop(case_id, None)
        if ended is not None:
            ended.set_result(None)


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
