"""Threads for synchronous judges and rewriters."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Executor, ThreadPoolExecutor

# A thread is started only when none is idle, so this many exist only if that many calls are in flight. The pool of an
# event loop is as small as the machine has processors, and calls that queue for it would run into their deadline.
_MOST_THREADS = 2048
_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def thread_pool() -> ThreadPoolExecutor:
    """Return the process's pool; how many calls are in flight is the harness's `max_concurrency` to decide."""
    global _pool  # noqa: PLW0603 - one pool per process is the point
    with _lock:
        if _pool is None:
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - async judges need none

            _pool = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="judgeharness-judge")
        return _pool


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a function, or an object that is called like one, is asynchronous."""
    if inspect.iscoroutinefunction(function):
        return True
    if isinstance(function, (FunctionType, MethodType, partial)):  # most are, and have no other way to be called
        return False
    return inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


async def call_maybe_async(function: Callable[..., Any], *args: object) -> Any:
    """Await an async function; run a synchronous one in a thread, with the caller's context variables."""
    return await (function(*args) if is_async(function) else in_thread(function, *args))


async def in_thread(function: Callable[..., Any], *args: object, threads: Executor | None = None) -> Any:
    """Run a synchronous function in a thread, with the caller's context variables.

    A call that is cancelled before its thread begins is not made.
    """
    answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    (threads or thread_pool()).submit(_answer, answered, copy_context(), function, args)
    try:
        value = await answered
    finally:
        del answered  # an error of its would hold it by this frame, and it the error
    return await value if inspect.isawaitable(value) else value


def _answer(
    answered: asyncio.Future[Any], context: Context, function: Callable[..., Any], args: tuple[object, ...]
) -> None:
    if answered.cancelled():
        return
    try:
        _tell(answered, answered.set_result, context.run(function, *args))
    except StopIteration:  # a future cannot carry it
        _tell(answered, answered.set_exception, RuntimeError("the judge ran out of answers (StopIteration)"))
    except BaseException as error:  # noqa: BLE001 - whatever it is, who waits is to know
        _tell(answered, answered.set_exception, error)
    finally:
        del answered


def _tell(answered: asyncio.Future[Any], settle: Callable[[Any], object], what: object) -> None:
    """Settle a future in its loop, which costs less than a future of the pool's chained to it."""
    with suppress(RuntimeError):  # the loop was closed: nobody waits any more
        answered.get_loop().call_soon_threadsafe(lambda: answered.done() or settle(what))


def _forget() -> None:
    global _lock, _pool
    _lock, _pool = threading.Lock(), None


with suppress(AttributeError):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget)
