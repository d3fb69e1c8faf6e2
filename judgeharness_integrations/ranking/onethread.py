"""Many small fits one after the other: threads inside each would wait for one another more than they work."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

__all__ = ["one_thread"]


def one_thread() -> AbstractContextManager[Any]:
    """Return a context within which linear algebra keeps to one thread."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - few rank a hundred times over

    limited: AbstractContextManager[Any] = threadpool_limits(1)
    return limited
