"""What every output opens with: the finding in one sentence, why, and the command that comes next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from judgeharness_integrations.reporting.sections import Block, Bullets


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The answer in one sentence, why, and the command that comes next; empty where none is known."""

    answer: str
    reasons: tuple[str, ...] = ()
    next: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        return {"answer": self.answer, "reasons": list(self.reasons), "next": self.next or None}

    def opening(self) -> Iterator[Block]:
        """Yield what stands below the answer."""
        if self.reasons:
            yield Bullets(self.reasons)
        if self.next:
            yield f"next: {self.next}"
