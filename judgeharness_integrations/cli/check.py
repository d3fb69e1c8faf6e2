"""`judgeharness check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

__all__ = ["check"]

_Config = Annotated[
    Path | None,
    typer.Argument(help="A configuration: .yaml, .toml or .json; its judges are asked.", show_default=False),
]
_Log = Annotated[
    Path | None,
    typer.Option(
        help="Instead, a verdict log: .sqlite, .parquet, .csv or .jsonl (.gz), or a folder.", show_default=False
    ),
]
_Judge = Annotated[
    list[str] | None,
    typer.Option(help="Only this judge; may be given several times.", show_default="all of CONFIG, the one of LOG"),
]
_Run = Annotated[str | None, typer.Option("--run", help="Only this run of LOG.", show_default=False)]
_Criterion = Annotated[
    list[str] | None, typer.Option(help="Only this criterion of LOG; may be given several times.", show_default=False)
]
_Labels = Annotated[bool, typer.Option("--labels", help="Read every verdict of LOG as a label, numbers too.")]
_Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder for check.json and verdicts.jsonl.", show_default="judgeharness-check/CONFIG beside CONFIG"
    ),
]
_Repetitions = Annotated[
    int | None, typer.Option(help="Samples of every case as it is: the noise to compare with.", min=1, show_default="3")
]
_Cases = Annotated[int | None, typer.Option(help="How many cases are drawn.", min=1, show_default="50")]
_Probe = Annotated[
    list[str] | None,
    typer.Option(help="Only this probe or family, as injection; may be given several times.", show_default="all"),
]
_NoProbes = Annotated[bool, typer.Option("--no-probes", help="Attack nothing.")]
_Tolerance = Annotated[float, typer.Option(help="The largest effect that passes, as a share.")]
_Alpha = Annotated[float, typer.Option(help="Chance of any false fail in a report.")]
_ScoreTolerance = Annotated[
    float | None,
    typer.Option(
        help="How far two scores lie apart and still agree.", show_default="a ninth of the scale, declared or seen"
    ),
]
_MaxCalls = Annotated[
    int | None, typer.Option(help="Refuse a larger plan; upper limit with retries.", show_default=False)
]
_Seed = Annotated[int | None, typer.Option(help="Of the draw of cases and of every change.", show_default="0")]
_Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before the first call; without a terminal nothing is asked.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print check.json; progress and plan go to stderr.")]
_Html = Annotated[Path | None, typer.Option(help="Also write a page to this file.", show_default=False)]


def check(
    config: _Config = None,
    *,
    log: _Log = None,
    judge: _Judge = None,
    run: _Run = None,
    criterion: _Criterion = None,
    labels: _Labels = False,
    out: _Out = None,
    repetitions: _Repetitions = None,
    cases: _Cases = None,
    probe: _Probe = None,
    no_probes: _NoProbes = False,
    tolerance: _Tolerance = 0.1,
    alpha: _Alpha = 0.05,
    score_tolerance: _ScoreTolerance = None,
    max_calls: _MaxCalls = None,
    seed: _Seed = None,
    yes: _Yes = False,
    as_json: _Json = False,
    html: _Html = None,
) -> None:
    """Is this judge any good? Asks it again under changes and attacks, or reads a log, and says what it passes.

    Of CONFIG every judge is asked; the same command again goes on, and asks nothing twice. Exit code 1 where a
    property fails.
    """
    from judgeharness_integrations.cli._check_request import CheckRequest  # noqa: PLC0415 - keeps --help fast

    request = CheckRequest(
        config=config,
        log=log,
        judges=tuple(dict.fromkeys(judge or ())),
        run=run,
        criteria=tuple(criterion or ()),
        labels=labels,
        out=out,
        repetitions=repetitions,
        cases=cases,
        probes=() if no_probes else None if not probe else tuple(probe),
        tolerance=tolerance,
        alpha=alpha,
        score_tolerance=score_tolerance,
        max_calls=max_calls,
        seed=seed,
        yes=yes,
        as_json=as_json,
        html=html,
    )
    request.check(both_probes=no_probes and bool(probe))
    if log is not None:
        from judgeharness_integrations.cli._check_tables import check_log  # noqa: PLC0415

        raise typer.Exit(check_log(log, request))
    from judgeharness_integrations.cli._check import check_config  # noqa: PLC0415

    raise typer.Exit(check_config(cast("Path", config), request))
