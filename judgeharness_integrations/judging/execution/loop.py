"""The sync face: one long-lived event loop in a background thread per process.

A client that was first used in this loop stays usable in it, however often the sync face is called, from scripts,
notebooks and running event loops alike.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from judgeharness_integrations._errors import JudgeHarnessError

_T = TypeVar("_T")
_CLEAN_UP_S = 5.0
_WAKE_S = 0.5
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None
_streams: set[AsyncGenerator[Any, None]] = set()  # open ones
_closing: set[asyncio.Task[None]] = set()
_ends: list[Callable[[], Awaitable[None]]] = []


def _background_loop() -> asyncio.AbstractEventLoop:
    global _loop, _thread  # noqa: PLW0603 - one loop per process is the point
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_serve, args=(_loop,), name="judgeharness", daemon=True)
            _thread.start()
            atexit.register(_stop, _loop, _thread)
        return _loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop, cancel what is left in it when it is stopped, and close it."""
    asyncio.set_event_loop(loop)
    loop.run_forever()
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    while _streams:  # from the outside in: the generators inside a stream cannot be closed before it
        loop.run_until_complete(_streams.pop().aclose())
    while _ends:
        loop.run_until_complete(_ends.pop()())
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """End the loop before the interpreter does: nobody could wait for it afterwards."""
    if thread.is_alive():  # not in a forked child
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_CLEAN_UP_S)


def _forget() -> None:
    global _lock, _loop, _thread
    _lock, _loop, _thread = threading.Lock(), None, None  # a forked child has no copy of the thread
    _streams.clear()
    _ends.clear()


with suppress(AttributeError):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget)


def background() -> asyncio.AbstractEventLoop | None:
    """Return the background loop where it is the one that runs here, else None."""
    return _loop if threading.current_thread() is _thread else None


def in_background(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> None:
    """Have a function called in a loop, from any thread; not where that has ended, or was left behind by a fork."""
    if loop is _loop:
        with suppress(RuntimeError):  # it was closed
            loop.call_soon_threadsafe(function)


def at_end(close: Callable[[], Awaitable[None]]) -> None:
    """Have something awaited when the background loop ends."""
    _ends.append(close)


def run_sync(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine in the background loop, with the caller's context variables, and wait for it.

    An interrupt cancels it and waits until it has cleaned up.

    Raises:
        JudgeHarnessError: called from inside that loop, where waiting would never end.

    """
    loop = _background_loop()
    if threading.current_thread() is _thread:
        coroutine.close()
        raise JudgeHarnessError("the sync face was called from inside an async judge: await the a-variant instead.")
    finished = threading.Event()

    async def watched() -> _T:
        try:
            return await coroutine
        finally:
            finished.set()

    future = _submitted(watched(), coroutine, loop)
    try:
        while not (future.done() or finished.wait(_WAKE_S)):
            pass  # a signal that comes as a thread falls asleep does not wake it: awake, it handles what came
        return future.result()
    except BaseException:
        if not future.done():  # it is the caller who was interrupted
            future.cancel()
            finished.wait(_CLEAN_UP_S)
        raise


def _submitted(
    watched: Coroutine[Any, Any, _T], inner: Coroutine[Any, Any, _T], loop: asyncio.AbstractEventLoop
) -> Future[_T]:
    try:
        return asyncio.run_coroutine_threadsafe(watched, loop)
    except RuntimeError as error:
        watched.close()
        inner.close()
        raise JudgeHarnessError("the interpreter is ending: nothing can be asked any more.") from error


def stream_sync(items: AsyncGenerator[_T, None]) -> Iterator[_T]:
    """Yield the items of an async generator that runs in the background loop; closing the iterator closes it."""

    async def following() -> list[_T]:
        try:
            return [await anext(items)]
        except StopAsyncIteration:
            return []

    _streams.add(items)
    try:
        while item := run_sync(following()):
            yield item[0]
    finally:
        _streams.discard(items)
        _close(items)


def _close(items: AsyncGenerator[Any, None]) -> None:
    async def close() -> None:
        await items.aclose()

    if threading.current_thread() is _thread:  # garbage collection of an iterator may run in any thread
        task = asyncio.ensure_future(close())
        _closing.add(task)
        task.add_done_callback(_closing.discard)
    elif not _background_loop().is_closed():  # else the interpreter is ending, and the loop was stopped before
        run_sync(close())
