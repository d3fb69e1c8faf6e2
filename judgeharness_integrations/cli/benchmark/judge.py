"""`judgeharness benchmark judge`."""

from __future__ import annotations

__all__ = ["judge"]


def judge() -> None:
    """Not here yet."""
