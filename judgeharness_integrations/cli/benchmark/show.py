"""`judgeharness benchmark show`."""

from __future__ import annotations

__all__ = ["show"]


def show() -> None:
    """Not here yet."""
