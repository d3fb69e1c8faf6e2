"""`judgeharness benchmark export`."""

from __future__ import annotations

__all__ = ["export"]


def export() -> None:
    """Not here yet."""
