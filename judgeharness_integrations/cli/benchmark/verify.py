"""`judgeharness benchmark verify`."""

from __future__ import annotations

__all__ = ["verify"]


def verify() -> None:
    """Not here yet."""
