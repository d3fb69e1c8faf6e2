"""`judgeharness report`: its options, and the report they name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import typer

from judgeharness_integrations.cli._command import command, part_of
from judgeharness_integrations.cli._gate_options import GateOptions, StepSummary
from judgeharness_integrations.cli._shared_options import OnlyJudges


@dataclass(frozen=True, kw_only=True)
class ReportRequest:
    """Show a run or any verdict log: as a page, for a pull request, a CI server or a spreadsheet. Nothing is asked."""

    where: Annotated[
        str,
        typer.Argument(
            metavar="RUN_OR_LOG",
            help="Folder of a run, a verdict log (.sqlite, .parquet, .csv or .jsonl, also .gz), or postgresql+psycopg://...",
            show_default=False,
        ),
    ]
    rule: Annotated[
        str | None,
        typer.Option(
            help="How to fold a log, as majority, or module:function. A run has its rule.", show_default=False
        ),
    ] = None
    run: Annotated[str | None, typer.Option(help="The run of a log that holds several.", show_default=False)] = None
    judges: OnlyJudges = ()
    labels: Annotated[bool, typer.Option("--labels", help="Read every verdict of a log as a label, numbers too.")] = (
        False
    )
    min_valid: Annotated[
        int | None, typer.Option(help="Valid samples a verdict needs, of a log.", show_default="half of a case's rows")
    ] = None
    tolerance: Annotated[
        float | None, typer.Option(help="How far two scores lie apart and still agree, of a log.", show_default="1.0")
    ] = None
    html: Annotated[
        str | None, typer.Option(help="Write one HTML page there; - is standard output.", show_default=False)
    ] = None
    markdown: Annotated[
        str | None, typer.Option(help="Write Markdown for GitHub there, or to -.", show_default=False)
    ] = None
    junit: Annotated[str | None, typer.Option(help="Write JUnit XML there, or to -.", show_default=False)] = None
    csv: Annotated[
        str | None,
        typer.Option(help="Write a table with a line a judge, case and criterion there, or to -.", show_default=False),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.report/1).")] = False
    results: Annotated[bool, typer.Option("--results", help="With --json: every case's result as well.")] = False
    cases: Annotated[
        Path | None,
        typer.Option(help="The cases (.csv, .jsonl), whose texts the report then shows.", show_default=False),
    ] = None
    annotations: Annotated[
        Path | None, typer.Option(help="People's labels, for the alternative annotator test.", show_default=False)
    ] = None
    humans: Annotated[
        tuple[str, ...],
        typer.Option(
            help="Annotators in --annotations: names, comma lists, patterns as 'annotator_*'.", show_default=False
        ),
    ] = ()
    epsilon: Annotated[float, typer.Option(help="What the judge is allowed for being cheaper than people.")] = 0.2
    on_abstain: Annotated[
        Literal["failure", "skipped", "passed"], typer.Option(help="What an abstention is in JUnit XML.")
    ] = "failure"
    every: Annotated[
        bool, typer.Option("--all", help="Every case, and what is folded away, at a terminal and in Markdown.")
    ] = False
    step_summary: StepSummary = True
    gates: GateOptions = field(default_factory=GateOptions)


def report_of(request: ReportRequest) -> int:
    """Show what is named, write what is asked for and return the exit code."""
    from judgeharness_integrations.cli._report import Outputs, Source, make_report  # noqa: PLC0415 - keeps --help fast

    files = {name: getattr(request, name) for name in ("html", "markdown", "junit", "csv")}
    return make_report(
        part_of(request, Source, judges=request.judges or None), part_of(request, Outputs, files=files), request.gates
    )


report = command(ReportRequest, report_of)
