"""Exit codes of the command, the same for every command."""

from __future__ import annotations

from typing import Final

__all__ = ["GATE_FAILED", "INTERRUPTED", "NOT_GRADED", "OK", "PIPE_CLOSED", "USAGE"]

OK: Final = 0
GATE_FAILED: Final = 1
USAGE: Final = 2
NOT_GRADED: Final = 3
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
