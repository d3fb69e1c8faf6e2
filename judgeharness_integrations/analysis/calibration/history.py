"""The history of drift checks: a JSONL file that is only ever appended to, one line a check."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.calibration.drift import DriftReport
from judgeharness_integrations.analysis.calibration.driftanswer import Day
from judgeharness_integrations.analysis.calibration.saved import CalibrationReport
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.row import is_number

HISTORY_SCHEMA: Final = "judgeharness.drift_history/1"
_CALLED: Final = ("history", "--history")
_Line = TypeVar("_Line")
_KEPT = (
    "criterion",
    "answer",
    "n",
    "difference",
    "low",
    "high",
    "p_adjusted",
    "minimum_detectable",
    "not_graded_now",
    "evidence",
    "decisions",
)


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


def past_days(history: History, calibration: CalibrationReport) -> list[Day]:
    """Return what the checks of a history decided about the anchors of a calibration, oldest first.

    Checks of another calibration, and those that did not keep their decisions, are left out.
    """
    known = {"calibration": calibration.name, "calibrated_at": calibration.measured_at}
    mine = [check for check in history.checks if all(check.get(name) == value for name, value in known.items())]
    return [day for check in mine if (day := _day(check))]


def _day(check: Mapping[str, Any]) -> Day:
    criteria = [one for one in check["criteria"] if isinstance(one, dict) and isinstance(one.get("decisions"), dict)]
    return {
        (case_id, str(one.get("criterion"))): math.inf if value is None else float(value)
        for one in criteria
        for case_id, value in one["decisions"].items()
        if value is None or is_number(value)
    }


def append_history(path: Path, line: Mapping[str, Any]) -> None:
    """Add a line at the end of the file; what stands in it is not touched.

    Raises:
        ConfigError: it cannot be written.

    """
    append_line(path, line, called=_CALLED)


def append_line(path: Path, line: Mapping[str, Any], *, called: tuple[str, str]) -> None:
    """Add a JSON object as a line of its own.

    Args:
        path: the file, which is made where it is missing.
        line: the object.
        called: what the file is, and the option that names another, for the error.

    Raises:
        ConfigError: it cannot be written.

    """
    text = json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = text if _ends_line(path) else "\n" + text
        with path.open("ab") as file:  # one write, so that lines of processes side by side stay lines
            file.write(text.encode("utf-8", errors=LONE_SURROGATES))
    except OSError as error:
        raise _cannot(path, "written", error, called) from error


def read_lines(path: Path, read: Callable[[str], _Line | None], *, called: tuple[str, str]) -> tuple[list[_Line], int]:
    """Return what lines hold, and how many hold nothing `read` can read; nothing without the file.

    Args:
        path: the file.
        read: of a line, None where it cannot be read.
        called: see `append_line`.

    Raises:
        ConfigError: the file cannot be read.

    """
    if not path.is_file():
        return [], 0
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise _cannot(path, "read", error, called) from error
    held = [read(line) for line in lines if line.strip()]
    known = [one for one in held if one is not None]
    return known, len(held) - len(known)


def _cannot(path: Path, what: str, error: OSError, called: tuple[str, str]) -> ConfigError:
    name, option = called
    return ConfigError(f"{name} {path} cannot be {what} ({error.strerror or error}): give another {option}.")


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
    checks, unreadable = read_lines(path, _check, called=_CALLED)
    return History(checks=tuple(checks), unreadable=unreadable)


def _check(line: str) -> Mapping[str, Any] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    fits = isinstance(data, dict) and data.get("schema") == HISTORY_SCHEMA
    return data if fits and isinstance(data.get("criteria"), list) else None
