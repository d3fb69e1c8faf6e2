"""`judgeharness audit`."""

from __future__ import annotations

__all__ = ["audit"]


def audit() -> None:
    """Not here yet."""
