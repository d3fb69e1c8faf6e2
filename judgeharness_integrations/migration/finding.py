"""One thing that is wrong with a judge, where it stands and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from judgeharness_integrations.migration.site import JudgeSite

__all__ = ["Finding"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A finding; lines and columns count from 1. `message` is one sentence: what is wrong, what to do."""

    code: str
    path: Path
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    site: JudgeSite | None = field(default=None, compare=False)

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Files in order of their names, findings from top to bottom."""
        return (self.path.as_posix(), self.line, self.column, self.code, self.message)

    def to_dict(self) -> dict[str, Any]:
        """Return what a machine reads."""
        return {
            "code": self.code,
            "path": self.path.as_posix(),
            "line": self.line,
            "column": self.column,
            "end_line": self.end_line,
            "end_column": self.end_column,
            "message": self.message,
            "judge": None if self.site is None else f"{self.site.framework}/{self.site.kind}",
        }
