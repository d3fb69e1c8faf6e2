"""`judgeharness report`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._gate_options import (
    AboutWhat,
    FailUnder,
    GateOptions,
    MaxAbstention,
    MinConsistency,
    PointEstimates,
    RequireCalibration,
    Scale,
    Sequential,
    StepSummary,
)

__all__ = ["report"]


class OnAbstain(StrEnum):
    """What an abstention is in JUnit XML."""

    failure = "failure"
    skipped = "skipped"
    passed = "passed"


_Source = Annotated[
    str,
    typer.Argument(
        metavar="RUN_OR_LOG",
        help="Folder of a run, a verdict log (.sqlite, .parquet, .csv or .jsonl, also .gz), or postgresql+psycopg://...",
        show_default=False,
    ),
]
_Rule = Annotated[
    str | None,
    typer.Option(help="How to fold a log, as majority, or module:function. A run has its rule.", show_default=False),
]
_Run = Annotated[str | None, typer.Option(help="The run of a log that holds several.", show_default=False)]
_Judge = Annotated[
    list[str] | None, typer.Option(help="Only this judge; may be given several times.", show_default=False)
]
_Labels = Annotated[bool, typer.Option("--labels", help="Read every verdict of a log as a label, numbers too.")]
_MinValid = Annotated[
    int | None, typer.Option(help="Valid samples a verdict needs, of a log.", show_default="half of a case's rows")
]
_Tolerance = Annotated[
    float | None, typer.Option(help="How far two scores lie apart and still agree, of a log.", show_default="1.0")
]
_Html = Annotated[str | None, typer.Option(help="Write one HTML page there; - is standard output.", show_default=False)]
_Markdown = Annotated[str | None, typer.Option(help="Write Markdown for GitHub there, or to -.", show_default=False)]
_Junit = Annotated[str | None, typer.Option(help="Write JUnit XML there, or to -.", show_default=False)]
_Csv = Annotated[
    str | None,
    typer.Option(help="Write a table with a line a judge, case and criterion there, or to -.", show_default=False),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.report/1).")]
_Results = Annotated[bool, typer.Option("--results", help="With --json: every case's result as well.")]
_Cases = Annotated[
    Path | None, typer.Option(help="The cases (.csv, .jsonl), whose texts the report then shows.", show_default=False)
]
_Annotations = Annotated[
    Path | None, typer.Option(help="People's labels, for the alternative annotator test.", show_default=False)
]
_Humans = Annotated[
    list[str] | None,
    typer.Option(
        help="Annotators in --annotations: names, comma lists, patterns as 'annotator_*'.", show_default=False
    ),
]
_Epsilon = Annotated[float, typer.Option(help="What the judge is allowed for being cheaper than people.")]
_OnAbstain = Annotated[OnAbstain, typer.Option(help="What an abstention is in JUnit XML.")]
_AllCases = Annotated[bool, typer.Option("--all-cases", help="Every case in Markdown, not the first of each kind.")]


def report(
    run_or_log: _Source,
    *,
    rule: _Rule = None,
    run: _Run = None,
    judge: _Judge = None,
    labels: _Labels = False,
    min_valid: _MinValid = None,
    tolerance: _Tolerance = None,
    html: _Html = None,
    markdown: _Markdown = None,
    junit: _Junit = None,
    csv: _Csv = None,
    as_json: _Json = False,
    results: _Results = False,
    cases: _Cases = None,
    annotations: _Annotations = None,
    humans: _Humans = None,
    epsilon: _Epsilon = 0.2,
    on_abstain: _OnAbstain = OnAbstain.failure,
    all_cases: _AllCases = False,
    step_summary: StepSummary = True,
    fail_under: FailUnder = None,
    max_abstention: MaxAbstention = None,
    min_consistency: MinConsistency = None,
    require_calibration: RequireCalibration = None,
    point_estimates: PointEstimates = None,
    sequential: Sequential = None,
    about: AboutWhat = None,
    scale: Scale = None,
) -> None:
    """Show a run or any verdict log: as a page, for a pull request, a CI server or a spreadsheet. Nothing is asked."""
    from judgeharness_integrations.cli._report import Outputs, Source, make_report  # noqa: PLC0415 - keeps --help fast

    source = Source(
        where=run_or_log,
        rule=rule,
        run=run,
        judges=judge or None,
        labels=labels,
        min_valid=min_valid,
        tolerance=tolerance,
        cases=cases,
        annotations=annotations,
        humans=humans or (),
        epsilon=epsilon,
    )
    files = {"html": html, "markdown": markdown, "junit": junit, "csv": csv}
    shown = {"as_json": as_json, "results": results, "all_cases": all_cases, "step_summary": step_summary}
    outputs = Outputs(files=files, on_abstain=on_abstain.value, **shown)
    gates = GateOptions(
        fail_under=fail_under,
        max_abstention=max_abstention,
        min_consistency=min_consistency,
        require_calibration=require_calibration,
        point_estimates=point_estimates,
        sequential=sequential,
        about=about,
        scale=scale,
    )
    raise typer.Exit(make_report(source, outputs, gates))
