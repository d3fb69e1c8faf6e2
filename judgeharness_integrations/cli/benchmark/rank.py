"""`judgeharness benchmark rank`."""

from __future__ import annotations

__all__ = ["rank"]


def rank() -> None:
    """Not here yet."""
