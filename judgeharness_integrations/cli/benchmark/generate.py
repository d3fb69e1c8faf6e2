"""`judgeharness benchmark generate`."""

from __future__ import annotations

__all__ = ["generate"]


def generate() -> None:
    """Not here yet."""
