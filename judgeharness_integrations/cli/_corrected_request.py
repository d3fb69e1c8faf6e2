"""What `judgeharness corrected-rate` is asked for, and where its numbers come from."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from judgeharness_integrations.calibration.corrected import LabelsAre

__all__ = ["Counts", "Origin", "Request"]


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The way in without a log."""

    passed: int | None
    of: int | None
    sensitivity: str | None
    specificity: str | None

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        return [f"--{part.name}" for part in fields(self) if getattr(self, part.name) is not None]


@dataclass(frozen=True, kw_only=True)
class Request:
    """The ways in with a log, and the declared assumption."""

    log: Path | None
    rule: str | None
    judge: str | None
    criterion: str | None
    positive: str | None
    calibration: Path | None
    gold: Path | None
    cluster: str | None
    labels: bool
    labels_are: LabelsAre


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where the numbers come from; what does not apply is None."""

    judge: str | None = None
    criterion: str | None = None
    rule: str | None = None
    rule_fixed: str | None = None
    calibration: str | None = None
    notes: tuple[str, ...] = ()
