"""A run's folder: the names of its files, and where its log is."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from judgeharness_integrations._errors import ConfigError, JudgeHarnessError, UsageError
from judgeharness_integrations.redacting import REDACTED

from .encoding import ENDED_BY, PLANNED_CASES

if TYPE_CHECKING:
    from .row import VerdictRow
    from .sql.runs import RunRecord

__all__ = [
    "BY_GATE",
    "EXPORTS",
    "LOG",
    "MARK",
    "RESULTS",
    "SUMMARY",
    "VERDICTS",
    "EndedEarly",
    "ended_early",
    "folder_of",
    "json_lines",
    "log_of",
    "marked",
    "marks_of_run",
    "opened_lines",
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
    from .sql.log import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

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
    from .files import read_log  # noqa: PLC0415 - who needs a path reads no rows

    try:
        log = log_of(folder)
        if "://" not in str(log) and not Path(log).exists():
            raise ConfigError(f"{log} does not exist.")
        from .sql.log import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

        with SqlLog(log, create=False) as found:
            return list(found.rows(run=run) if run else found.rows())  # a log that breaks off is read elsewhere, whole
    except JudgeHarnessError:
        if not (folder / VERDICTS).exists():
            raise
        return read_log(folder / VERDICTS)


BY_GATE: Final = "gate"


def marked(rows: Iterable[VerdictRow], planned: Mapping[str, int], *, ended_by: str) -> Iterator[VerdictRow]:
    """Yield rows which say, of a run with cases that were never asked, how many there were and why it ended.

    A copy of them elsewhere would pass for the rows of a whole run.

    Args:
        rows: of one run.
        planned: judge -> cases of the run.
        ended_by: `gate` or the state of the run.

    """
    listed = list(rows)
    asked: dict[str, set[str]] = {}
    for row in listed:
        asked.setdefault(row.judge, set()).add(row.case_id)
    marks = marks_of_run({judge: len(cases) for judge, cases in asked.items()}, planned, ended_by=ended_by)
    for row in listed:
        yield replace(row, attributes={**row.attributes, **marks[row.judge]}) if marks else row


def marks_of_run(
    asked: Mapping[str, int], planned: Mapping[str, int], *, ended_by: str
) -> dict[str, dict[str, str | float]]:
    """Return judge -> what its rows say of a run with cases that were never asked, see `marked`; empty of a whole one.

    Args:
        asked: judge -> cases it was asked about.
        planned: judge -> cases of the run.
        ended_by: `gate` or the state of the run.

    """
    if all(asked.get(judge, 0) >= count for judge, count in planned.items()):
        return {}
    return {judge: {PLANNED_CASES: planned.get(judge, count), ENDED_BY: ended_by} for judge, count in asked.items()}


@dataclass(frozen=True, kw_only=True)
class EndedEarly:
    """What rows apart from their folder say of their run: judge -> cases that were asked, and that there were."""

    asked: Mapping[str, int]
    planned: Mapping[str, int]
    by_gate: bool


def ended_early(file: Path, run: str | None) -> EndedEarly | None:
    """Return what the rows of a file say of a run that ended early (`marked`); None where they say nothing.

    Raises:
        LogFormatError: it cannot be read.

    """
    from .files import iter_records, read_log  # noqa: PLC0415 - who needs a path reads no rows

    if not any(PLANNED_CASES in str(record) for record in islice(iter_records(file), 1)):
        return None  # each row would say so
    rows = [row for row in read_log(file) if run in {None, row.run}]
    told = {row.judge: row.attributes for row in rows if PLANNED_CASES in row.attributes}
    if not told or len({row.run for row in rows}) > 1:
        return None
    asked = {judge: len({row.case_id for row in rows if row.judge == judge}) for judge in {row.judge for row in rows}}
    planned = {judge: int(float(told.get(judge, {}).get(PLANNED_CASES, 0))) for judge in asked}
    return EndedEarly(
        asked=asked,
        planned={judge: max(count, planned[judge]) for judge, count in asked.items()},
        by_gate=any(one.get(ENDED_BY) == BY_GATE for one in told.values()),
    )


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


def opened_lines(path: Path) -> TextIO:
    """Open a file of lines for reading, one that ends with `.gz` as what it was compressed from."""
    if path.suffix == ".gz":
        import gzip  # noqa: PLC0415 - loaded at first use

        return gzip.open(path, "rt", encoding="utf-8", errors="surrogatepass")
    return path.open(encoding="utf-8", errors="surrogatepass")


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file; a last line that was cut off in writing is left out.

    Raises:
        ConfigError: the file cannot be read, or a line before the last is damaged.

    """
    try:
        with opened_lines(path) as file:
            lines = file.read().split("\n")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"{path.parent} holds no results of a run ({path.name}: {reason}): give the folder that `judgeharness run "
            "--out` wrote, recorded results, or a verdict log with --rule."
        ) from error
    written = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    for number, line in written:
        try:
            found = json.loads(line)
        except ValueError as error:
            if number == written[-1][0]:
                return
            raise ConfigError(f"{path}: line {number} is damaged: write the file again.") from error
        if not isinstance(found, dict):
            raise ConfigError(f"{path}: line {number} holds no JSON object: write the file again.")
        yield found
