"""What commands read and write: rows of a log, JSON, files known to be writable, and why samples failed."""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from judgeharness_integrations._errors import (
    ConfigError,
    JudgeHarnessError,
    LogFormatError,
    UnknownNameError,
    UsageError,
)
from judgeharness_integrations.analysis.aggregation.cases import DECIDING_ATTRIBUTES, deciding_attributes
from judgeharness_integrations.redacting import without_secrets
from judgeharness_integrations.verdictlog import read_log
from judgeharness_integrations.verdictlog.decoding import as_labels
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES, counted, safe_text
from judgeharness_integrations.verdictlog.patterns import CasePatterns, read_patterns
from judgeharness_integrations.verdictlog.row import VerdictRow
from judgeharness_integrations.verdictlog.runfolder import LOG, MARK, VERDICTS, rows_of_folder, run_of

if TYPE_CHECKING:
    from judgeharness_integrations.reporting.sections import Block


def print_json(document: Any) -> None:
    """Print a document on standard output, nothing else."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def show(blocks: Iterable[Block], *, stderr: bool = False) -> None:
    """Print sentences and tables, one below the other."""
    from judgeharness_integrations.reporting.sections import Section  # noqa: PLC0415 - loads rich
    from judgeharness_integrations.reporting.terminal import console, show_section  # noqa: PLC0415

    show_section(Section(title="", blocks=tuple(blocks)), console(stderr=stderr), every=True)


def check_file(path: Path, *, option: str = "--out") -> None:
    """Raise a ConfigError unless a file can be written there; nothing is left behind.

    `option` is the one that names it.
    """
    with _explaining(path, option):
        if path.is_dir():
            raise ConfigError(f"{path} is a folder: give the path of a file as {option}.")
        if path.is_file():
            path.open("ab").close()  # changes nothing
        elif not path.exists():  # what is neither is a device or a pipe, which an attempt could block
            _try_in(path.parent)


def write_file(path: Path, text: str, option: str) -> None:
    """Write what an option asked for.

    Raises:
        ConfigError: the file cannot be written; the sentence names the option.

    """
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror or error}): give another {option}.") from error


def check_folder(path: Path, names: Sequence[str], *, overwrite: bool) -> None:
    """Raise a ConfigError unless files of these names can be written there, over earlier ones only if so wished."""
    with _explaining(path):
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{path} is not a folder: give another --out.")
        if path.is_dir() and any(path.iterdir()) and not overwrite:
            raise ConfigError(f"{path} is not empty: give another --out, or --overwrite.")
        _try_in(path)
    for name in names:
        check_file(path / name)


def _try_in(folder: Path) -> None:
    """Write a nameless file into the folder, or into the nearest one above it that exists."""
    while not folder.exists():
        folder = folder.parent
    with tempfile.TemporaryFile(dir=folder):
        pass


@contextmanager
def _explaining(path: Path, option: str = "--out") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(f"{path} cannot be written ({reason}): give another {option}; nothing was asked.") from error


VARIABLE: Final = "GITHUB_STEP_SUMMARY"
MOST_BYTES: Final = 1024 * 1024  # what GitHub takes of one step
_CUT = "\n\nThis report is longer than the 1 MiB that GitHub shows of a step: the rest is left out.\n"


def summary_file() -> Path | None:
    """Return the file of the running step; None outside of GitHub's jobs."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def append_summary(markdown: str, path: Path) -> None:
    """Append a report, cut to what GitHub takes; that it cannot be written is one line on standard error."""
    try:
        before = path.stat().st_size if path.exists() else 0
        text = _fitting(markdown, MOST_BYTES - before)
        if not text:
            left = f"the step summary {safe_text(str(path))} has no room left of the 1 MiB GitHub takes"
            typer.echo(f"{left}: the report is not in it.", err=True)
            return
        with path.open("a", encoding="utf-8", errors=LONE_SURROGATES) as summary:
            summary.write(text)
    except OSError as error:
        reason = error.strerror or error
        typer.echo(f"the step summary {safe_text(str(path))} cannot be written ({reason}).", err=True)


def _fitting(markdown: str, most: int) -> str:
    """Return the text within so many bytes of UTF-8, cut at a line's end."""
    data = markdown.encode("utf-8", LONE_SURROGATES)
    if len(data) <= most:
        return markdown
    room = max(most - len(_CUT.encode()) - len("</details>\n") * 2, 0)
    kept = data[:room].decode("utf-8", "ignore")
    kept = kept[: kept.rfind("\n") + 1]
    open_parts = kept.count("<details>") - kept.count("</details>")
    closing = ("</pre>\n" if kept.count("<pre>") > kept.count("</pre>") else "") + "\n</details>\n" * open_parts
    return (kept + closing + _CUT) if kept else ""


_MOST_KEPT, _MOST_SHOWN = 10, 3
_LONGEST_ERROR = 200
_MOST_KINDS = 1000  # told apart; each error a text of its own must not fill the memory
_OTHERS = "of other kinds"
_VARIES = re.compile(r"\b(?=\w*\d)\w{8,}\b|\b\d+\.\d+|\b\d+(?=m?s\b)")  # request ids, waiting times
_REPLAY_ALONE = re.compile(r",? or (?:--labels|read (?:a log )?with labels=True(?: \(--labels\))?)")


class FailureKinds:
    """Counts kinds of failed samples, in memory that does not grow with their number.

    Errors that differ in ids and waiting times alone are one kind, shown by its first. A call about several criteria
    is one sample.
    """

    def __init__(self) -> None:
        """Start without failures."""
        self._counts: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], str] = {}

    def add(self, rows: Iterable[VerdictRow]) -> None:
        """Take in rows; those of one call must come together."""
        counted: set[tuple[object, ...]] = set()
        for row in rows:
            if row.ok:
                continue
            kind = self._kind(row)
            call = (*kind, row.key if row.call_id is None else row.call_id)
            if call not in counted:
                counted.add(call)
                self._counts[kind] += 1
                self._first.setdefault(kind, _OTHERS if kind[1] == _OTHERS else row.error or "")

    def _kind(self, row: VerdictRow) -> tuple[str, str]:
        kind = (row.outcome, _VARIES.sub("#", row.error or ""))
        return kind if kind in self._counts or len(self._counts) < _MOST_KINDS else (row.outcome, _OTHERS)

    def to_list(self, settings: Any) -> list[dict[str, Any]]:
        """Return the kinds, most frequent first, as `{outcome, error, count}`.

        `settings` are what the judge was built from; no secret of theirs is in a text.
        """
        return [
            {
                "outcome": kind[0],
                "error": safe_text(without_secrets(self._first[kind], settings), _LONGEST_ERROR) or None,
                "count": count,
            }
            for kind, count in self._counts.most_common(_MOST_KEPT)
        ]


def failures(rows: Iterable[VerdictRow], settings: Any) -> list[dict[str, Any]]:
    """Return the kinds of failed samples among rows; see `FailureKinds`."""
    kinds = FailureKinds()
    kinds.add(rows)
    return kinds.to_list(settings)


def told(judge: str, kinds: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield `gpt-4o: 12 samples: error, RateLimitError: ...` for the most frequent kinds of failure."""
    for kind in kinds[:_MOST_SHOWN]:
        samples = counted(kind["count"], "sample")
        reason = f", {kind['error']}" if kind["error"] else ""
        yield f"{safe_text(judge, 60)}: {samples}: {kind['outcome']}{reason}"
    if len(kinds) > _MOST_SHOWN:
        yield f"{safe_text(judge, 60)}: {sum(kind['count'] for kind in kinds[_MOST_SHOWN:])} failed in other ways"


@contextmanager
def without_replay_advice() -> Iterator[None]:
    """Take the advice to read numbers as labels out of errors of the core: only `replay` has that option."""
    try:
        yield
    except JudgeHarnessError as error:
        error.args = (_REPLAY_ALONE.sub("", str(error)),)
        raise


def rows_of_log(log: Path, *, run: str | None = None, labels: bool = False) -> list[VerdictRow]:
    """Return the rows of a log, of one run where one is named; of the folder of a run or a check, those of its run.

    Raises:
        LogFormatError: the log cannot be read.
        UnknownNameError: no row is of that run; the nearest is offered.
        UsageError: no row is of any run, or the folder holds no log.

    """
    if log.is_dir():
        return _rows_in(log, run, labels=labels)
    return _of_run(read_log(log, labels=labels), run, log)


def asked_of_log(log: Path, *, run: str | None = None, labels: bool = False) -> list[VerdictRow]:
    """Return the rows of a log as `rows_of_log`, and no verdict of cases that lost samples (`NotedRun.with_lost`)."""
    from judgeharness_integrations.analysis.runs.folder import noted_of_run  # noqa: PLC0415 - few need it

    return noted_of_run(log, run).with_lost(rows_of_log(log, run=run, labels=labels))


def cases_of_log(log: Path, *, run: str | None = None, labels: bool = False) -> CasePatterns:
    """Return the cases of a log, of one run where one is named, in memory that hardly grows with its rows.

    Where cases hardly repeat each other, each is there with all that its rows hold.

    Raises:
        LogFormatError: see `rows_of_log`.
        UnknownNameError: see there.
        UsageError: see there.

    """
    try:
        found = None if log.is_dir() else _patterns(log, labels=labels)
    except LogFormatError:  # the reader of all rows says which line is the first one
        found = None
    if found is None:
        return CasePatterns(rows=rows_of_log(log, run=run, labels=labels))
    return replace(found, rows=_of_run(found.rows, run, log))


def _patterns(log: Path, *, labels: bool) -> CasePatterns | None:
    return read_patterns(log, attributes=DECIDING_ATTRIBUTES, reduced=deciding_attributes, labels=labels)


def _of_run(rows: Sequence[VerdictRow], run: str | None, log: Path) -> list[VerdictRow]:
    if run is None:
        return [*rows]
    found = [row for row in rows if row.run == run]
    if not found and {row.run for row in rows} <= {""}:
        raise UsageError(f"{log}: its rows name no run: leave out --run.")
    if not found:
        raise UnknownNameError("run", run, {row.run for row in rows})
    return found


def stop_notes(log: Path, run: str | None = None) -> tuple[str, ...]:
    """Return what intervals do not tell where the log is that of a run which ended because of a gate; else nothing."""
    from judgeharness_integrations.analysis.runs.folder import noted_of_run  # noqa: PLC0415 - few need it

    own = noted_of_run(log, run).gates
    return () if own is None or not own.stop else (own.stop,)


def _rows_in(folder: Path, run: str | None, *, labels: bool) -> list[VerdictRow]:
    if not (folder / MARK).exists():  # of a check, whose database also keeps the runs of older settings
        held = next((folder / name for name in (VERDICTS, LOG) if (folder / name).exists()), None)
        if held is None:
            raise UsageError(
                f"{folder} holds neither {LOG} nor {VERDICTS}: give the folder of a run, or a verdict log."
            )
        return rows_of_log(held, run=run, labels=labels)
    begun = run_of(folder)
    rows = [row for row in rows_of_folder(folder, run or begun) if row.run == (run or begun)]
    if not rows and run is not None:
        raise UnknownNameError("run", run, [] if begun is None else [begun])
    if not rows:
        raise UsageError(f"{folder} holds no answer of its run yet: continue it, or give a verdict log.")
    return as_labels(rows, source=str(folder)) if labels else rows


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Spare a short-lived process the search for cycles: the rows of a log hold none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
