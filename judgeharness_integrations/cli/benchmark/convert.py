"""`judgeharness benchmark convert`."""

from __future__ import annotations

__all__ = ["convert"]


def convert() -> None:
    """Not here yet."""
