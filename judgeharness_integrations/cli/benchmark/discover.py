"""`judgeharness benchmark discover`."""

from __future__ import annotations

__all__ = ["discover"]


def discover() -> None:
    """Not here yet."""
