"""What a call makes, before it is known how it is used."""

from __future__ import annotations

from dataclasses import dataclass

from judgeharness_integrations.migration.site import Framework, JudgeShape

__all__ = ["Kind"]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of judge; the fields are those of `JudgeSite`."""

    framework: Framework
    kind: str
    shape: JudgeShape
    evidence: str
    is_async: bool | None = None
    harnessed: bool = False
    deterministic: bool = False
