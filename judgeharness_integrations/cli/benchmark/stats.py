"""`judgeharness benchmark stats`."""

from __future__ import annotations

__all__ = ["stats"]


def stats() -> None:
    """Not here yet."""
