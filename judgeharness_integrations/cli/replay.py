"""`judgeharness replay`."""

from __future__ import annotations

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
)

__all__ = ["replay"]

_Calibration = Annotated[
    Path | None,
    typer.Option(
        help="A saved calibration: does it hold for these decisions, and are the cases like its own?",
        show_default="that of a run's folder",
    ),
]

_Certificate = Annotated[
    Path | None,
    typer.Option(
        help="A saved certificate: decisions that it does not certify abstain.", show_default="that of a run's folder"
    ),
]


def replay(
    log: Annotated[
        Path,
        typer.Argument(
            help="A verdict log: .sqlite, .parquet, .csv or .jsonl (.gz), or a run's folder.", show_default=False
        ),
    ],
    rule: Annotated[str, typer.Option(help="The rule, as supermajority(2/3), or module:function.", show_default=False)],
    judge: Annotated[
        list[str] | None, typer.Option(help="Only this judge; may be given several times.", show_default=False)
    ] = None,
    criterion: Annotated[
        list[str] | None, typer.Option(help="Only this criterion; may be given several times.", show_default=False)
    ] = None,
    run: Annotated[str | None, typer.Option(help="Only this run of the log.", show_default="all")] = None,
    *,
    labels: Annotated[bool, typer.Option("--labels", help="Read every verdict as a label, numbers too.")] = False,
    min_valid: Annotated[
        int | None, typer.Option(help="Valid samples a verdict needs.", show_default="half of a case's rows")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="How far two scores lie apart and still agree.")] = 1.0,
    calibration: _Calibration = None,
    certificate: _Certificate = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.replay/1).")] = False,
    fail_under: FailUnder = None,
    max_abstention: MaxAbstention = None,
    min_consistency: MinConsistency = None,
    require_calibration: RequireCalibration = None,
    point_estimates: PointEstimates = None,
    sequential: Sequential = None,
    about: AboutWhat = None,
    scale: Scale = None,
) -> None:
    """Fold an existing verdict log with a rule. Nothing is asked."""
    from judgeharness_integrations.cli._replay import replay_log  # noqa: PLC0415 - keeps --help fast

    code = replay_log(
        log,
        rule,
        judges=judge or None,
        criteria=criterion or None,
        run=run,
        labels=labels,
        min_valid=min_valid,
        tolerance=tolerance,
        calibration=calibration,
        certificate=certificate,
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
    )
    raise typer.Exit(code)
