"""`judgeharness replay`: its options, and the log they name folded."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._gate_options import GateOptions
from judgeharness_integrations.cli._shared_options import Labels, MinValid, OnlyCriteria, OnlyJudges, OnlyRun


@dataclass(frozen=True, kw_only=True)
class ReplayRequest:
    """Fold an existing verdict log with a rule. Nothing is asked."""

    log: Annotated[
        Path,
        typer.Argument(
            help="A verdict log: .sqlite, .parquet, .csv or .jsonl (.gz), or a run's folder.", show_default=False
        ),
    ]
    rule: Annotated[str, typer.Option(help="The rule, as supermajority(2/3), or module:function.", show_default=False)]
    judges: OnlyJudges = ()
    criteria: OnlyCriteria = ()
    run: OnlyRun = None
    labels: Labels = False
    min_valid: MinValid = None
    tolerance: Annotated[float, typer.Option(help="How far two scores lie apart and still agree.")] = 1.0
    calibration: Annotated[
        Path | None,
        typer.Option(
            help="A saved calibration: does it hold for these decisions, and are the cases like its own?",
            show_default="that of a run's folder",
        ),
    ] = None
    certificate: Annotated[
        Path | None,
        typer.Option(
            help="A saved certificate: decisions that it does not certify abstain.",
            show_default="that of a run's folder",
        ),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.replay/1).")] = False
    gates: GateOptions = field(default_factory=GateOptions)


def fold_log(request: ReplayRequest) -> int:
    """Fold a log, print the report and return the exit code."""
    from judgeharness_integrations.cli._replay import replay_log  # noqa: PLC0415 - keeps --help fast

    return replay_log(
        request.log,
        request.rule,
        judges=request.judges or None,
        criteria=request.criteria or None,
        run=request.run,
        labels=request.labels,
        min_valid=request.min_valid,
        tolerance=request.tolerance,
        calibration=request.calibration,
        certificate=request.certificate,
        as_json=request.as_json,
        gates=request.gates,
    )


replay = command(ReplayRequest, fold_log)
