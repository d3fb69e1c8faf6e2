"""`judgeharness benchmark curate`."""

from __future__ import annotations

__all__ = ["curate"]


def curate() -> None:
    """Not here yet."""
