"""Decisions as small numbers: a label's place, or why there is none."""

from __future__ import annotations

from typing import Final

__all__ = ["ABSTAINED", "FAILED", "NOT_ASKED"]

ABSTAINED: Final = -1
FAILED: Final = -2
NOT_ASKED: Final = -3
