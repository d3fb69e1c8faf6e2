"""A measurement that several callers want and one makes, whatever event loops and threads they are in."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import asyncio

__all__ = ["Once", "SameObject"]

_T = TypeVar("_T")


class Once(Generic[_T]):
    """Keeps what was measured, by key; whoever asks for a measurement under way waits for it."""

    def __init__(self) -> None:
        """Start without measurements."""
        self._known: dict[object, Future[_T]] = {}
        self._guard = threading.Lock()

    def __contains__(self, key: object) -> bool:
        """Whether it was measured, or is being measured."""
        return key in self._known

    async def get(self, key: object, measure: Callable[[], Awaitable[_T | None]]) -> _T | None:
        """Return what is known under the key, measuring it if need be.

        A measurement that is cancelled, or gives None because it could not be finished, is left to the next caller.
        """
        from asyncio import wrap_future  # noqa: PLC0415 - already loaded by then

        mine: Future[_T] = Future()
        mine.set_running_or_notify_cancel()  # a caller who waits may be cancelled, which must not cancel it for all
        while (known := self._claim(key, mine)) is not mine:
            try:
                if known.done():
                    return known.result()
                waiting: asyncio.Future[_T] = wrap_future(known)
                return await waiting
            except _UnfinishedError:
                continue
        return await self._made(key, mine, measure)

    def _claim(self, key: object, mine: Future[_T]) -> Future[_T]:
        with self._guard:
            return self._known.setdefault(key, mine)

    async def _made(self, key: object, mine: Future[_T], measure: Callable[[], Awaitable[_T | None]]) -> _T | None:
        made: _T | None = None
        failure: Exception = _UnfinishedError()
        try:
            made = await measure()
        except Exception as error:
            failure = error
            raise
        finally:
            if made is None:
                with self._guard:
                    del self._known[key]
                mine.set_exception(failure)
            else:
                mine.set_result(made)
        return made


class _UnfinishedError(Exception):
    """What others wait for was given up."""


class SameObject:
    """A key equal to that of the same object only; two bound methods are the same when object and function are."""

    def __init__(self, thing: object) -> None:
        """Stand for an object, and keep it alive, so that its id cannot come to mean another one."""
        self._thing = thing
        self._ids = (id(getattr(thing, "__self__", thing)), id(getattr(thing, "__func__", thing)))

    def __eq__(self, other: object) -> bool:
        """Whether both stand for the same object."""
        return isinstance(other, SameObject) and self._ids == other._ids

    def __hash__(self) -> int:
        """Return a hash that fits `==`."""
        return hash(self._ids)
