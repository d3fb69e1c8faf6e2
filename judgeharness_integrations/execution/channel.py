"""Answers on their way from many workers to one reader."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

__all__ = ["Channel"]

_T = TypeVar("_T")


class Channel(Generic[_T]):
    """A queue in one event loop whose writers never wait with an item in hand.

    An item is in as soon as it is there, however full the channel is; writers wait for `room` before they make the
    next one. So an end, or a cancellation, finds no answer that was paid for and not yet handed over.
    """

    def __init__(self, most_unread: int) -> None:
        """Let writers go on up to `most_unread` items; at most one more of each is held."""
        self._most_unread = most_unread
        self._unread: deque[_T] = deque()
        self._writers: list[asyncio.Future[None]] = []
        self._reader: asyncio.Future[None] | None = None
        self._ended = False
        self._error: BaseException | None = None

    def add(self, item: _T) -> None:
        """Hand over an item."""
        self._unread.append(item)
        self._wake_reader()

    def end(self, error: BaseException | None = None) -> None:
        """Say that nothing follows; `error` is raised to the reader after the last item."""
        self._ended, self._error = True, error
        self._wake_reader()

    @property
    def is_full(self) -> bool:
        """Whether the reader has fallen behind."""
        return len(self._unread) >= self._most_unread

    async def room(self) -> None:
        """Wait until the reader has caught up, should it have fallen behind."""
        if self.is_full:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._writers.append(turn)
            await turn

    async def get(self) -> _T | None:
        """Return the next item, None after the last one."""
        while not self._unread:
            if self._error is not None:
                raise self._error
            if self._ended:
                return None
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        return self.get_at_once()

    def get_at_once(self) -> _T | None:
        """Return the next item if there is one."""
        if not self._unread:
            return None
        item = self._unread.popleft()
        if self._writers and len(self._unread) <= self._most_unread // 2:
            for writer in self._writers:
                _wake(writer)
            self._writers.clear()
        return item

    def _wake_reader(self) -> None:
        if self._reader is not None:
            _wake(self._reader)
            self._reader = None


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)
