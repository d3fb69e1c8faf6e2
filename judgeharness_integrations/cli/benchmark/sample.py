"""`judgeharness benchmark sample`."""

from __future__ import annotations

__all__ = ["sample"]


def sample() -> None:
    """Not here yet."""
