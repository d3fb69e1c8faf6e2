"""Time that a busy machine does not change much: of this thread alone, best of a few, without the collector."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def cpu_seconds(act: Callable[[], object], *, tries: int = 5) -> float:
    """Return the seconds of CPU that the fastest of several calls took."""
    taken = []
    collects = gc.isenabled()
    gc.disable()
    try:
        for _ in range(tries):
            began = time.thread_time()
            act()
            taken.append(time.thread_time() - began)
    finally:
        if collects:
            gc.enable()
    return min(taken)


def assert_linear(act: Callable[[int], object], *, length: int, slack: float = 0.05) -> None:
    """Assert that eight times the length takes far less than the sixty-four times of a quadratic one."""
    small = cpu_seconds(lambda: act(length))
    assert cpu_seconds(lambda: act(8 * length)) < 32 * small + slack
