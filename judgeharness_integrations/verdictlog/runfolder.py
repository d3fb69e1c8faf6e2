"""A run's folder: the names of its files, and where its log is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._errors import ConfigError, JudgeHarnessError, UsageError
from judgeharness_integrations.redacting import REDACTED

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog.row import VerdictRow
    from judgeharness_integrations.verdictlog.sql.runs import RunRecord

__all__ = [
    "EXPORTS",
    "LOG",
    "MARK",
    "RESULTS",
    "SUMMARY",
    "VERDICTS",
    "folder_of",
    "log_of",
    "read_mark",
    "record_of",
    "rows_of_folder",
    "run_of",
]

LOG: Final = "verdicts.sqlite"
MARK: Final = "run.json"
VERDICTS, RESULTS, SUMMARY = EXPORTS = ("verdicts.jsonl", "results.jsonl", "summary.json")


def folder_of(path: Path) -> Path | None:
    """Return the folder of the run that a path is: the folder, its log in it, or what that was exported to.

    None of any other file: a copy elsewhere is rows, of which nothing else is known.

    Raises:
        ConfigError: what the folder notes of its run cannot be read.

    """
    if path.is_dir():
        return path
    folder = path.parent
    if not (folder / MARK).is_file():
        return None
    return folder if path.name in {LOG, VERDICTS, read_mark(folder / MARK).get("log")} else None


def log_of(folder: Path) -> str | Path:
    """Return the log of the run that stands in a folder.

    Raises:
        UsageError: its URL holds a password, which is not written down.

    """
    marked = str(read_mark(folder / MARK).get("log", LOG)) if (folder / MARK).exists() else LOG
    if REDACTED in marked:
        raise UsageError(f"the log of {folder} is {marked}: give its URL, whose password is not kept here.")
    return marked if "://" in marked else folder / marked


def run_of(folder: Path) -> str | None:
    """Return the name of the run that was begun in a folder; None where its mark is missing or does not say."""
    found = read_mark(folder / MARK).get("run") if (folder / MARK).exists() else None
    return None if found is None else str(found)


def record_of(folder: Path) -> RunRecord | None:
    """Return what the log knows of the run that stands in a folder; None where the log is gone or out of reach."""
    from judgeharness_integrations.verdictlog.sql.log import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

    try:
        log, run = log_of(folder), run_of(folder)
        if "://" not in str(log) and not Path(log).is_file():
            return None
        with SqlLog(log, create=False) as opened:
            records = [record for record in opened.records() if run in (None, record.run)]
    except JudgeHarnessError:
        return None
    return records[-1] if records else None


def rows_of_folder(folder: Path, run: str | None) -> list[VerdictRow]:
    """Return the rows of a run, of all where none is named: from the folder's log, else from what it was exported to.

    Raises:
        JudgeHarnessError: neither can be read.

    """
    from judgeharness_integrations.verdictlog.files import read_log  # noqa: PLC0415 - who needs a path reads no rows

    try:
        log = log_of(folder)
        if "://" not in str(log) and not Path(log).exists():
            raise ConfigError(f"{log} does not exist.")
        from judgeharness_integrations.verdictlog.sql.log import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

        with SqlLog(log, create=False) as found:
            return list(found.rows(run=run) if run else found.rows())  # a log that breaks off is read elsewhere, whole
    except JudgeHarnessError:
        if not (folder / VERDICTS).exists():
            raise
        return read_log(folder / VERDICTS)


def read_mark(file: Path) -> Mapping[str, Any]:
    """Return what a run's mark says.

    Raises:
        ConfigError: it cannot be read.

    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read ({error}): delete it, or give another --out.") from error
    return found if isinstance(found, dict) else {}
