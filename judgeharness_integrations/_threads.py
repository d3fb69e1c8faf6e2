"""Threads for synchronous judges and rewriters."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["thread_pool"]

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


def _forget() -> None:
    global _lock, _pool
    _lock, _pool = threading.Lock(), None


with suppress(AttributeError):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget)
