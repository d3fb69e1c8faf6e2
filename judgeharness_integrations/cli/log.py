"""`judgeharness runs` and `log`: the runs of a log with progress and cost, and rows in and out of a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from judgeharness_integrations._documents import DATABASE_SUFFIXES
from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.runs.reading import changed_parts, run_measures
from judgeharness_integrations.analysis.spending import Prices, stored_prices, used
from judgeharness_integrations.judging.execution.loop import run_sync
from judgeharness_integrations.reporting.runlist import runs_section
from judgeharness_integrations.reporting.terminal import console, show_section, table
from judgeharness_integrations.verdictlog.encoding import CALIBRATION_RUN, calibration_run, counted, listed, safe_text
from judgeharness_integrations.verdictlog.files import iter_log, iter_records, write_log
from judgeharness_integrations.verdictlog.row import ModelUsage, VerdictRow
from judgeharness_integrations.verdictlog.runfolder import BY_GATE, LOG, log_of, marks_of_run
from judgeharness_integrations.verdictlog.sql.log import SqlLog
from judgeharness_integrations.verdictlog.sql.rows import failed_of
from judgeharness_integrations.verdictlog.sql.runs import RunRecord
from judgeharness_integrations.verdictlog.sql.store import shown

from ._command import Labels, command, terminable
from ._output import print_json
from .run_place import COLUMNS, batch_cells, batch_entries


@dataclass(frozen=True, kw_only=True)
class RunsRequest:
    """List the runs of a log: what each came to, how far it is, how it ended and what it cost."""

    log: Annotated[str, typer.Argument(help="A log, or the folder of a run.", envvar="JUDGEHARNESS_LOG")] = (
        "judgeharness-out"
    )
    cancel: Annotated[
        str | None,
        typer.Option(help="Cancel the open batches of this run first, whatever its judges would ask today."),
    ] = None
    every: Annotated[bool, typer.Option("--all", help="Measure every run, however many answers it holds.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False


RUNS_SCHEMA = "judgeharness.runs/1"
_MEASURED = 20_000  # answers that are read to measure runs, the latest first: a few seconds


def list_runs(request: RunsRequest) -> None:
    """Print the runs of a log, oldest first.

    Raises:
        UsageError: there is no log.

    """
    where = request.log if "://" in request.log else Path(request.log)
    if isinstance(where, Path) and where.is_dir():
        where = log_of(where)
    if isinstance(where, Path) and not where.exists():
        inside = sorted(one.parent.name for one in where.parent.glob(f"*/{LOG}"))
        held = f"runs stand in {listed(inside)}: name one of these, or give" if inside else "give"
        raise UsageError(
            f"{shown(where)}: there is no log; {held} the folder of a run, a .sqlite file or the URL of a log."
        )
    with SqlLog(where, create=False) as log:
        if request.cancel is not None:
            _cancel(log, request.cancel)
        entries, records = list(_entries(log)), {record.run: record for record in log.records()}
        _measure(log, entries, records, most=None if request.every else _MEASURED)
        document: dict[str, Any] = {"schema": RUNS_SCHEMA, "log": log.name, "runs": entries}
    if request.as_json:
        print_json(document)
        return
    screen = console()
    last = [records[entry["run"]].parts for entry in entries if entry["measured"]][-2:]
    changed = changed_parts(*last) if len(last) > 1 else []
    show_section(runs_section(document, changed=changed), screen, every=request.every)
    if batches := [batch_cells(entry["run"], one) for entry in document["runs"] for one in entry.get("batches", ())]:
        screen.print(table("batches", COLUMNS, batches, texts=4))


@terminable()
def _cancel(log: SqlLog, run: str) -> None:
    """Have no more asked of what is open; answers that are there stay in the log."""
    from judgeharness_integrations.judging.execution.batch_engine import Terms, cancel_batches  # noqa: PLC0415 - httpx

    terms = Terms(poll_s=_POLL_S, tell=partial(typer.echo, err=True))
    run_sync(cancel_batches(log, run, terms=terms))


_POLL_S = 2.0


def _entries(log: SqlLog) -> Iterator[dict[str, Any]]:
    """Yield the runs that have a record, then those of which there are rows or batches alone: of code, or imported."""
    records = log.records()
    for record in records:
        entry = _entry(log, record.run, log.usage(calibration_run(record.run)), stored_prices(record.prices)) | {
            "state": _state(log, record),
            "begun": record.created_at,
            "changed": record.updated_at,
            "planned_cases": record.planned_cases,
            "planned_calls": record.planned_calls,
        }
        entry["saved_calls"] = _saved_calls(entry, record)
        yield entry | _batches(log, record.run, stored_prices(record.prices))
    known = {name for record in records for name in (record.run, calibration_run(record.run))}
    for run in dict.fromkeys((*log.run_ids(), *log.batched_runs())):
        if run not in known and failed_of(run) not in known:
            yield _entry(log, run, (), {}) | _batches(log, run, {})


def _batches(log: SqlLog, run: str, prices: Prices) -> dict[str, Any]:
    """Return the batches of a run, if there are any; those of its labelled cases are among them, and nowhere else."""
    found = () if run.endswith(CALIBRATION_RUN) else batch_entries(log, run, prices)
    return {"batches": found} if found else {}


def _measure(
    log: SqlLog, entries: Sequence[dict[str, Any]], records: Mapping[str, RunRecord], *, most: int | None
) -> None:
    """Add what runs came to, the latest first, as long as no more than so many answers are to be read."""
    left = most
    for entry in reversed(entries):
        record = records.get(entry["run"])
        entry |= {"rule": None if record is None else record.parts.get("harness", {}).get("aggregation_rule")}
        entry |= {"measured": None}
        if record is None or (left is not None and entry["answered_calls"] > left):
            continue
        left = None if left is None else left - entry["answered_calls"]
        cases = None if record.until else record.cases_a_judge
        entry["measured"] = run_measures(list(log.rows(run=record.run)), record.parts, cases=cases)


def _state(log: SqlLog, record: RunRecord) -> str:
    """Return the state as noted; a process that was killed noted nothing."""
    if record.state != "running":
        return record.state
    claimed = log.is_claimed(record.run)
    return "running?" if claimed is None else "running" if claimed else "stopped"


def _saved_calls(entry: Mapping[str, Any], record: RunRecord) -> int | None:
    """Return what stopping early saved a run that is complete."""
    if record.state != "complete" or record.planned_calls is None or not record.parts.get("harness", {}).get("curtail"):
        return None
    return int(record.planned_calls - entry["answered_calls"])


def _entry(log: SqlLog, run: str, labelled: tuple[ModelUsage, ...], prices: Prices) -> dict[str, Any]:
    """Return what the rows of a run say; what they used includes that of its labelled cases."""
    usage = log.usage(run)
    return {
        "run": run,
        **dict.fromkeys(("begun", "changed", "state", "planned_cases", "planned_calls", "saved_calls")),
        "answered_calls": sum(one.calls for one in usage),
        "failed_rows": sum(one.errors for one in usage),
        **used((*usage, *labelled), prices),
        "judges": sorted({one.judge for one in usage}),
    }


runs = command(RunsRequest, list_runs)
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
    str, typer.Option("--log", help="The database: a .sqlite or .db file, or postgresql+psycopg://USER@HOST/DB.")
]


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """Add the rows of a file to a log. Rows that it holds already are left alone, so it may be repeated."""

    file: Annotated[
        Path,
        typer.Argument(help="A verdict log: .csv or .jsonl, each also as .gz, .parquet, or another database file."),
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
    out: Annotated[Path, typer.Option(help="The file: .csv or .jsonl, each also as .gz, or .parquet.")]
    run: Annotated[str | None, typer.Option(help="Only this run.", show_default="all")] = None


_AT_ONCE = 2000  # rows in one transaction
_LONGEST_NAME = 200
_LONGEST_NOTE = 600


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
    console().print(f"{name}: {counted(new, 'row')} new, {known} known already.", soft_wrap=True)
    if other:
        console().print(
            f"{counted(other, 'row')} not added: the log holds other answers in their place.", soft_wrap=True
        )
    for left in _left_behind(file):
        typer.echo(safe_text(left, _LONGEST_NOTE), err=True)


def _left_behind(file: Path) -> Iterator[str]:
    """Yield what to know of each run of a database whose batches are not imported with its rows."""
    if file.suffix.lower() not in DATABASE_SUFFIXES:
        return
    with SqlLog(file, create=False) as source:
        for run in source.batched_runs():
            if held := source.open_batches(run):
                yield (
                    f"run {run} has {held} in {file}, which do not come along: collect or cancel them there and import "
                    "it again before it goes on here, or they are paid for twice."
                )


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
    console().print(f"{safe_text(str(out), _LONGEST_NAME)}: {counted(rows.count, 'row')} written.", soft_wrap=True)


@dataclass
class _Rows:
    """The rows of a log, read anew each time they are gone through; those of a run that ended early say so."""

    log: SqlLog
    run: str | None
    count: int = 0

    def __iter__(self) -> Iterator[VerdictRow]:
        self.count, marks = 0, self._marks()
        for row in self._of(self.run):
            self.count += 1
            mark = marks.get(row.run, {}).get(row.judge)
            yield row if mark is None else replace(row, attributes={**row.attributes, **mark})

    def _of(self, run: str | None) -> Iterator[VerdictRow]:
        return self.log.rows() if run is None else self.log.rows(run=run)

    def _marks(self) -> dict[str, dict[str, dict[str, str | float]]]:
        """Return run -> judge -> what rows of a run with cases that were never asked say."""
        marks = {}
        for record in self.log.records():
            if self.run not in {None, record.run} or not (record.until or record.state != "complete"):
                continue
            asked: dict[str, set[str]] = {}
            for row in self._of(record.run):
                asked.setdefault(row.judge, set()).add(row.case_id)
            ended_by = BY_GATE if record.state == "complete" else record.state
            counts = {judge: len(ids) for judge, ids in asked.items()}
            marks[record.run] = marks_of_run(counts, record.planned(asked), ended_by=ended_by)
        return marks


import_log = command(ImportRequest, import_file)
export_log = command(ExportRequest, export_file)
log.command("import")(import_log)
log.command("export")(export_log)
