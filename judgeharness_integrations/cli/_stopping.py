"""SIGTERM, which cancelled CI jobs and stopped containers get, ends a command as an interrupt does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

__all__ = ["Terminated", "terminable"]


class Terminated(BaseException):
    """SIGTERM came; no KeyboardInterrupt, which the library behind the command turns into an exit code of its own."""


@contextmanager
def terminable() -> Iterator[None]:
    """Raise `Terminated` when SIGTERM comes, once, and put back what handled it before.

    A command that started with SIGTERM ignored goes on ignoring it; outside the main thread nothing changes.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # what was answered is being written down: a second one must not cut it off
    raise Terminated
