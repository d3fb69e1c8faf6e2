"""The sync face: one long-lived event loop in a background thread per process.

A client that was first used in this loop stays usable in it, however often the sync face is called, from scripts,
notebooks and running event loops alike.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from judgeharness_integrations._errors import JudgeHarnessError

__all__ = ["run_sync", "stream_sync"]

_T = TypeVar("_T")
_CLEAN_UP_S = 5.0
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None


def _background_loop() -> asyncio.AbstractEventLoop:
    global _loop, _thread  # noqa: PLW0603 - one loop per process is the point
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_loop.run_forever, name="judgeharness", daemon=True)
            _thread.start()
        return _loop


def _forget() -> None:
    global _loop, _thread  # noqa: PLW0603
    _loop = _thread = None  # a forked child has no copy of the thread


os.register_at_fork(after_in_child=_forget)


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

    future = asyncio.run_coroutine_threadsafe(watched(), loop)
    try:
        return future.result()
    except (KeyboardInterrupt, CancelledError):
        future.cancel()
        finished.wait(_CLEAN_UP_S)
        raise


def stream_sync(items: AsyncGenerator[_T, None]) -> Iterator[_T]:
    """Yield the items of an async generator that runs in the background loop; closing the iterator closes it."""

    async def following() -> list[_T]:
        try:
            return [await anext(items)]
        except StopAsyncIteration:
            return []

    async def close() -> None:
        await items.aclose()

    try:
        while item := run_sync(following()):
            yield item[0]
    finally:
        run_sync(close())
