"""The history of drift checks: a JSONL file that is only ever appended to, one line a check."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.calibration.drift import DriftReport
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

__all__ = ["HISTORY_SCHEMA", "History", "append_history", "history_line", "read_history"]

HISTORY_SCHEMA: Final = "judgeharness.drift_history/1"
_KEPT = ("criterion", "answer", "n", "difference", "low", "high", "p_adjusted", "minimum_detectable", "not_graded_now")


@dataclass(frozen=True, kw_only=True)
class History:
    """The checks of a history in order, and how many of its lines could not be read; these stay in the file."""

    checks: tuple[Mapping[str, Any], ...] = ()
    unreadable: int = 0


def history_line(report: DriftReport, *, judge: str, checked_at: str) -> dict[str, Any]:
    """Return what the history keeps of a check.

    Args:
        report: what the check found.
        judge: the judge that was checked.
        checked_at: when, as an ISO 8601 time with offset.

    """
    return {
        "schema": HISTORY_SCHEMA,
        "checked_at": checked_at,
        "answer": report.answer,
        "judge": judge,
        "calibration": report.calibration,
        "calibrated_at": report.measured_at,
        "fingerprint": report.fingerprint,
        "changes": None if report.changes is None else list(report.changes),
        "design_changes": list(report.design_changes),
        "missing": len(report.missing),
        "relabelled": len(report.relabelled),
        "criteria": [{name: getattr(one, name) for name in _KEPT} for one in report.criteria.values()],
    }


def append_history(path: Path, line: Mapping[str, Any]) -> None:
    """Add a line at the end of the file; what stands in it is not touched.

    Raises:
        ConfigError: it cannot be written.

    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"
        text = text if _ends_line(path) else "\n" + text
        with path.open("ab") as file:  # one write, so that checks side by side stay lines
            file.write(text.encode("utf-8", errors=LONE_SURROGATES))
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(f"history {path} cannot be written ({reason}): give another --history.") from error


def _ends_line(path: Path) -> bool:
    """Whether the file is empty or ends with a whole line; an interrupted check may have left half of one."""
    if not path.is_file():  # a device
        return True
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 1))
        return file.read(1) in (b"", b"\n")


def read_history(path: Path) -> History:
    """Return the checks in a file; without the file there were none.

    Raises:
        ConfigError: it cannot be read.

    """
    if not path.is_file():
        return History()
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(f"history {path} cannot be read ({reason}): give another --history.") from error
    read = [_check(line) for line in lines if line.strip()]
    checks = tuple(check for check in read if check is not None)
    return History(checks=checks, unreadable=len(read) - len(checks))


def _check(line: str) -> Mapping[str, Any] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    fits = isinstance(data, dict) and data.get("schema") == HISTORY_SCHEMA
    return data if fits and isinstance(data.get("criteria"), list) else None
