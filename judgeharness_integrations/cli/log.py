"""`judgeharness log`: rows into a database and out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import Labels
from judgeharness_integrations.reporting.terminal import console
from judgeharness_integrations.verdictlog.files import iter_log, iter_records, write_log
from judgeharness_integrations.verdictlog.plain import counted, safe_text
from judgeharness_integrations.verdictlog.row import VerdictRow
from judgeharness_integrations.verdictlog.sql.log import SqlLog

log = typer.Typer(
    help="Verdict logs in databases: rows in from files, rows out to files.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)


@log.callback()
def _group() -> None:
    """Keep the group a group, however many commands it has."""


_Log: TypeAlias = Annotated[
    str,
    typer.Option(
        "--log", help="The database: a .sqlite or .db file, or postgresql+psycopg://USER@HOST/DB.", show_default=False
    ),
]


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """Add the rows of a file to a log. Rows that it holds already are left alone, so it may be repeated."""

    file: Annotated[
        Path,
        typer.Argument(
            help="A verdict log: .csv or .jsonl, each also as .gz, .parquet, or another database file.",
            show_default=False,
        ),
    ]
    log: _Log
    run: Annotated[
        str | None, typer.Option(help="The run the rows become part of.", show_default="as the file says")
    ] = None
    labels: Labels = False


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """Write the rows of a log to a file, in the order they came."""

    log: _Log
    out: Annotated[
        Path, typer.Option(help="The file: .csv or .jsonl, each also as .gz, or .parquet.", show_default=False)
    ]
    run: Annotated[str | None, typer.Option(help="Only this run.", show_default="all")] = None


_AT_ONCE = 2000  # rows in one transaction
_LONGEST_NAME = 200


def import_file(request: ImportRequest) -> None:
    """Add a file's rows to a log, as rows of a run if one is named, and print how many were new.

    Raises:
        UsageError: the file holds several runs and they were to become one.

    """
    file, run = request.file, request.run
    if run is not None:
        _check_one_run(file)
    rows = iter_log(file, labels=request.labels)
    if run is not None:
        rows = (replace(row, run=run) for row in rows)
    some = list(islice(rows, _AT_ONCE))  # a file that cannot be read makes no database
    new = known = other = 0
    with SqlLog(request.log) as database:
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


def export_file(request: ExportRequest) -> None:
    """Write a log's rows, or those of one run, to a file, and print how many they were.

    Raises:
        UnknownNameError: no row is of that run.

    """
    run, out = request.run, request.out
    with SqlLog(request.log, create=False) as database:
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
    return counted(count, "row")


import_log = command(ImportRequest, import_file)


export_log = command(ExportRequest, export_file)

log.command("import")(import_log)
log.command("export")(export_log)
