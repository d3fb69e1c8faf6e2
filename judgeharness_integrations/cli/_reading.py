"""The rows of a log, or of one of its runs, read by a process that soon ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.verdictlog import VerdictRow, read_log

__all__ = ["rows_of_log", "without_garbage_collection"]


def rows_of_log(log: Path, *, run: str | None = None, labels: bool = False) -> list[VerdictRow]:
    """Return the rows of a log, of one run where one is named.

    Raises:
        LogFormatError: the log cannot be read.
        UnknownNameError: no row is of that run; the nearest is offered.
        UsageError: no row is of any run.

    """
    rows = read_log(log, labels=labels)
    if run is None:
        return rows
    found = [row for row in rows if row.run == run]
    if not found and {row.run for row in rows} <= {""}:
        raise UsageError(f"{log}: its rows name no run: leave out --run.")
    if not found:
        raise UnknownNameError("run", run, {row.run for row in rows})
    return found


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
