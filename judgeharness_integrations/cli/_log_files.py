"""What `judgeharness log import` and `export` do, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.cli._printing import console
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.verdictlog.files import iter_log, iter_records, write_log
from judgeharness_integrations.verdictlog.row import VerdictRow
from judgeharness_integrations.verdictlog.sql.log import SqlLog

__all__ = ["export_file", "import_file"]

_AT_ONCE = 2000  # rows in one transaction
_LONGEST_NAME = 200


def import_file(file: Path, log: str, *, run: str | None, labels: bool) -> None:
    """Add a file's rows to a log, as rows of `run` if one is given, and print how many were new.

    Raises:
        UsageError: the file holds several runs and they were to become one.

    """
    if run is not None:
        _check_one_run(file)
    rows = iter_log(file, labels=labels)
    if run is not None:
        rows = (replace(row, run=run) for row in rows)
    some = list(islice(rows, _AT_ONCE))  # a file that cannot be read makes no database
    new = known = other = 0
    with SqlLog(log) as database:
        while some:
            added = database.add(some)
            differing = _differing(database, some) if added < len(some) else 0
            new, known, other = new + added, known + len(some) - added - differing, other + differing
            some = list(islice(rows, _AT_ONCE))
        name = safe_text(database.name, _LONGEST_NAME)
    console().print(f"{name}: {_rows(new)} new, {known} known already.", soft_wrap=True)
    if other:
        console().print(f"{_rows(other)} not added: the log holds other answers in their place.", soft_wrap=True)


def _check_one_run(file: Path) -> None:
    """Refuse to make several runs one: rows in the same place of two runs cannot both be kept."""
    runs = sorted({str(record.get("run") or "") for _, record in iter_records(file)})
    if len(runs) > 1:
        names = safe_text(", ".join(repr(name) for name in runs), _LONGEST_NAME)
        raise UsageError(
            f"{file} holds {len(runs)} runs ({names}), which --run would make one: leave --run out, or export one of "
            "them to a file and import that."
        )


def _differing(log: SqlLog, rows: Sequence[VerdictRow]) -> int:
    """Return how many of the rows the log holds with another content."""
    cases: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        cases.setdefault((row.run, row.judge), set()).add(row.case_id)
    held = {
        row.key: row
        for (run, judge), ids in cases.items()
        for group in log.of_cases(run=run, judge=judge, case_ids=sorted(ids)).values()
        for row in group
    }
    return sum(held[row.key] != row for row in rows)


def export_file(log: str, out: Path, *, run: str | None) -> None:
    """Write a log's rows, or those of one run, to a file, and print how many they were.

    Raises:
        UnknownNameError: no row is of that run.

    """
    with SqlLog(log, create=False) as database:
        if run is not None and not database.has_rows(run=run):
            raise UnknownNameError("run", run, database.run_ids())
        rows = _Rows(database, run)
        write_log(rows, out)
    console().print(f"{safe_text(str(out), _LONGEST_NAME)}: {_rows(rows.count)} written.", soft_wrap=True)


@dataclass
class _Rows:
    """The rows of a log, read anew each time they are gone through."""

    log: SqlLog
    run: str | None
    count: int = 0

    def __iter__(self) -> Iterator[VerdictRow]:
        self.count = 0
        for row in self.log.rows() if self.run is None else self.log.rows(run=self.run):
            self.count += 1
            yield row


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
