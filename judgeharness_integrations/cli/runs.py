"""`judgeharness runs`: the runs of a log with progress and cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.spending import used
from judgeharness_integrations.analysis.usage import Price
from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.judging.calibrating import calibration_run
from judgeharness_integrations.reporting.terminal import console, safe, table
from judgeharness_integrations.verdictlog import SqlLog
from judgeharness_integrations.verdictlog.plain import share
from judgeharness_integrations.verdictlog.runfolder import log_of
from judgeharness_integrations.verdictlog.sql.engines import shown
from judgeharness_integrations.verdictlog.sql.rows import failed_of
from judgeharness_integrations.verdictlog.sql.runs import ModelUsage, RunRecord


@dataclass(frozen=True, kw_only=True)
class RunsRequest:
    """List the runs of a log: how far each is, how it ended and what it cost."""

    log: Annotated[str, typer.Argument(help="A log, or the folder of a run.", envvar="JUDGEHARNESS_LOG")] = (
        "judgeharness-out"
    )
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False


RUNS_SCHEMA = "judgeharness.runs/1"
_OWN_NAME = 12  # characters of a name that nobody chose
_STATES = {"budget_exhausted": "out of budget", "judge_down": "a judge is down", None: "imported"}


def list_runs(request: RunsRequest) -> None:
    """Print the runs of a log, oldest first.

    Raises:
        UsageError: there is no log.

    """
    where = request.log if "://" in request.log else Path(request.log)
    if isinstance(where, Path) and where.is_dir():
        where = log_of(where)
    if isinstance(where, Path) and not where.exists():
        raise UsageError(
            f"{shown(where)}: there is no log; give the folder of a run, a .sqlite file or the URL of a log."
        )
    with SqlLog(where, create=False) as log:
        document: dict[str, Any] = {"schema": RUNS_SCHEMA, "log": log.name, "runs": list(_entries(log))}
    if request.as_json:
        print_json(document)
        return
    columns = ("run", "begun (UTC)", "state", "answered,\n% of calls", "re-\nused", "failed", "tokens", "cost")
    rows = [_cells(entry) for entry in document["runs"]]
    screen = console()
    screen.print(Text(f"log: {log.name}"))
    listed = table("runs", columns, rows, texts=3)
    listed.columns[0].no_wrap = all(len(entry["run"]) <= _OWN_NAME for entry in document["runs"])  # to be copied whole
    screen.print(listed)


def _entries(log: SqlLog) -> Iterator[dict[str, Any]]:
    """Yield the runs that have a record, then those of which there are rows alone, which were imported."""
    records = log.records()
    for record in records:
        entry = _entry(log, record.run, log.usage(calibration_run(record.run)), _prices(record.prices)) | {
            "state": _state(log, record),
            "begun": record.created_at,
            "changed": record.updated_at,
            "planned_cases": record.planned_cases,
            "planned_calls": record.planned_calls,
        }
        entry["saved_calls"] = _saved_calls(entry, record)
        yield entry
    known = {name for record in records for name in (record.run, calibration_run(record.run))}
    for run in log.run_ids():
        if run not in known and failed_of(run) not in known:
            yield _entry(log, run, (), {})


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


def _entry(log: SqlLog, run: str, labelled: tuple[ModelUsage, ...], prices: Mapping[str, Price]) -> dict[str, Any]:
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


def _prices(stored: Mapping[str, Any] | None) -> dict[str, Price]:
    return {name: Price.from_dict(given) for name, given in (stored or {}).items()}


def _saved(entry: Mapping[str, Any]) -> str:
    return f" ({entry['saved_calls']} saved)" if entry["saved_calls"] else ""


def _cells(entry: Mapping[str, Any]) -> list[str | Text]:
    planned, answered = entry["planned_calls"], entry["answered_calls"]
    tokens = [entry["input_tokens"], entry["output_tokens"]]
    return [
        safe(entry["run"]),
        safe("-" if entry["begun"] is None else entry["begun"][5:16].replace("T", " ")),
        _STATES.get(entry["state"], str(entry["state"])),
        str(answered) if planned is None else share(answered, planned) + _saved(entry),
        str(entry["reused"]),
        str(entry["failed_rows"]),
        "-" if tokens == [None, None] else str(sum(filter(None, tokens))),
        "-" if entry["cost"] is None else f"{entry['cost']:.4f}",
    ]


runs = command(RunsRequest, list_runs)
