"""The rows of a log, of one of its runs, or of the folder of a run, read by a process that soon ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from judgeharness_integrations._errors import LogFormatError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.cases import DECIDING_ATTRIBUTES, deciding_attributes
from judgeharness_integrations.verdictlog import VerdictRow, read_log
from judgeharness_integrations.verdictlog.decoding import as_labels
from judgeharness_integrations.verdictlog.patterns import CasePatterns, read_patterns
from judgeharness_integrations.verdictlog.runfolder import LOG, MARK, VERDICTS, rows_of_folder, run_of


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
    from judgeharness_integrations.analysis.runs.noted import noted_of_run  # noqa: PLC0415 - few need it

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
