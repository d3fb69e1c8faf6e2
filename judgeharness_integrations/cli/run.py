"""`judgeharness run`."""

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
    Until,
)

__all__ = ["run"]


class Engine(StrEnum):
    """Where judges are asked from: this process, or the workers of a Ray cluster."""

    local = "local"
    ray = "ray"


_Config = Annotated[Path, typer.Argument(help="A configuration: .yaml, .toml or .json.", show_default=False)]
_Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder for verdicts.jsonl, results.jsonl, summary.json.",
        show_default="the key out, else judgeharness-out beside CONFIG",
    ),
]
_Log = Annotated[
    str | None,
    typer.Option(
        help="Log to write to: a .sqlite path, or postgresql+psycopg://... for runs several machines share.",
        envvar="JUDGEHARNESS_LOG",
        show_default="the key log, else verdicts.sqlite in the folder",
    ),
]
_Run = Annotated[
    str | None, typer.Option("--run", help="Run to go on with, or the name of a new one.", show_default=False)
]
_MaxCalls = Annotated[
    int | None, typer.Option(help="Refuse a larger plan; upper limit with retries.", show_default=False)
]
_BudgetCalls = Annotated[
    int | None, typer.Option(help="End the run after so many calls, retries included.", min=1, show_default=False)
]
_BudgetTokens = Annotated[int | None, typer.Option(help="End the run after so many tokens.", min=1, show_default=False)]
_BudgetCost = Annotated[
    float | None, typer.Option(help="End the run after so much money, by the key prices.", show_default=False)
]
_Engine = Annotated[
    Engine | None, typer.Option(help="Where judges are asked from.", show_default="the key execution.engine")
]
_Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before the first call; without a terminal nothing is asked.")
]
_NewRun = Annotated[
    bool, typer.Option("--new-run", help="Begin a new run; answers of earlier ones that still fit are re-used.")
]
_Fresh = Annotated[bool, typer.Option("--fresh", help="Take no answers of other runs: every sample is asked for anew.")]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write into a folder that holds something else.")]
_Json = Annotated[bool, typer.Option("--json", help="Print summary.json; progress and plan go to stderr.")]


def run(
    config: _Config,
    *,
    out: _Out = None,
    log: _Log = None,
    run_id: _Run = None,
    max_calls: _MaxCalls = None,
    budget_calls: _BudgetCalls = None,
    budget_tokens: _BudgetTokens = None,
    budget_cost: _BudgetCost = None,
    engine: _Engine = None,
    yes: _Yes = False,
    new_run: _NewRun = False,
    fresh: _Fresh = False,
    overwrite: _Overwrite = False,
    as_json: _Json = False,
    until: Until = None,
    fail_under: FailUnder = None,
    max_abstention: MaxAbstention = None,
    min_consistency: MinConsistency = None,
    require_calibration: RequireCalibration = None,
    point_estimates: PointEstimates = None,
    sequential: Sequential = None,
    about: AboutWhat = None,
    scale: Scale = None,
    step_summary: StepSummary = True,
) -> None:
    """Measure judges on cases as a configuration says: plan and cost first, then every answer as a row.

    The same command again goes on with a run that was cut off; nothing that is in its log is asked twice.
    """
    from judgeharness_integrations.cli._run import run_config  # noqa: PLC0415 - keeps --help fast
    from judgeharness_integrations.cli._run_request import RunRequest  # noqa: PLC0415

    request = RunRequest(
        out=out,
        log=log,
        run=run_id,
        new_run=new_run,
        fresh=fresh,
        engine=None if engine is None else engine.value,
        max_calls=max_calls,
        budget_calls=budget_calls,
        budget_tokens=budget_tokens,
        budget_cost=budget_cost,
        yes=yes,
        overwrite=overwrite,
        as_json=as_json,
        gates=GateOptions(
            fail_under=fail_under,
            max_abstention=max_abstention,
            min_consistency=min_consistency,
            require_calibration=require_calibration,
            point_estimates=point_estimates,
            sequential=sequential,
            about=about,
            scale=scale,
        ),
        until=tuple(until or ()),
        step_summary=step_summary,
    )
    raise typer.Exit(run_config(config, request))
