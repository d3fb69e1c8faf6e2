"""What `judgeharness audit` printed, and the page it would have served."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judgeharness_integrations.audit.source import AuditSource

__all__ = ["Command", "Ran", "Served"]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Served:
    """What the page would have shown; `port` it was to be served on."""

    sources: list[AuditSource] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)

    @property
    def source(self) -> AuditSource:
        return self.sources[-1]


Command = Callable[..., Ran]
