"""`judgeharness calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["calibrate"]

_Config = Annotated[
    Path | None,
    typer.Argument(help="A configuration whose judge is asked about the labelled cases.", show_default=False),
]
_Labels = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        "--gold",
        help="Cases with a gold column; with --log, case_id and gold are enough.",
        show_default=False,
    ),
]
_Log = Annotated[
    Path | None,
    typer.Option(help="An existing verdict log, with gold or with --labels, instead of CONFIG.", show_default=False),
]
_Plot = Annotated[
    Path | None, typer.Option(help="A folder for the risk-coverage curve (PNG and SVG).", show_default=False)
]
_Check = Annotated[
    Path | None,
    typer.Option(help="A saved calibration: has the judge drifted since?", show_default=False),
]
_Anchors = Annotated[int | None, typer.Option(help="Cases of it to look at again.", show_default="50")]
_Margin = Annotated[float | None, typer.Option(help="Change that a stable judge may show.", show_default="0.1")]
_Alpha = Annotated[float | None, typer.Option(help="Level of the test for drift.", show_default="0.05")]
_History = Annotated[
    Path | None, typer.Option(help="Where checks are added to.", show_default="CHECK.history.jsonl beside CHECK")
]
_Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 when the check is inconclusive, too.")]


def calibrate(  # noqa: PLR0917 - typer passes every option by name
    config: _Config = None,
    labels: _Labels = None,
    log: _Log = None,
    rule: Annotated[str | None, typer.Option(help="The rule to measure (with --log).", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option(help="Where to save the calibration.", show_default=False)] = None,
    judge: Annotated[str | None, typer.Option(help="Which judge, when there are several.", show_default=False)] = None,
    run: Annotated[str | None, typer.Option(help="Only this run of the log (with --log).", show_default="all")] = None,
    name: Annotated[
        str | None, typer.Option(help="What reports call the label set.", show_default="the file's name")
    ] = None,
    source: Annotated[str, typer.Option(help="Where labels come from: human, executable, model:<name>.")] = "human",
    positive: Annotated[
        str | None, typer.Option(help="The label precision and recall are about.", show_default=False)
    ] = None,
    max_calls: Annotated[
        int | None, typer.Option(help="Upper limit for calls, retries included.", show_default=False)
    ] = None,
    plot: _Plot = None,
    check: _Check = None,
    anchors: _Anchors = None,
    margin: _Margin = None,
    alpha: _Alpha = None,
    history: _History = None,
    *,
    strict: _Strict = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before the first call; without a terminal nothing is asked.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the calibration as JSON.")] = False,
) -> None:
    """Measure a rule against labels: CONFIG --labels FILE --out FILE asks, --log LOG --rule RULE does not.

    With --check OLD.json instead of --out: has the judge drifted since OLD.json was measured? Only its anchors are
    asked about. Exit code 1: drifted.
    """
    from judgeharness_integrations.cli import _calibrate  # noqa: PLC0415 - keeps --help fast
    from judgeharness_integrations.cli._calibrate_log import calibrate_log  # noqa: PLC0415
    from judgeharness_integrations.cli._calibration_output import Request  # noqa: PLC0415

    request = Request(
        labels=labels,
        out=out,
        judge=judge,
        name=name,
        source=source,
        positive=positive,
        as_json=as_json,
        plot=plot,
        run=run,
    )
    if log is not None:
        _calibrate.refuse_both(config, None if check is None else labels, max_calls)
    options = {"anchors": anchors, "margin": margin, "alpha": alpha, "history": history, "strict": strict or None}
    if check is not None or any(value is not None for value in options.values()):
        from judgeharness_integrations.cli._calibrate_check import check_config, check_log, check_of  # noqa: PLC0415

        wanted = check_of(check, request, read=(config, labels, log), **options)
        if log is not None:
            raise typer.Exit(check_log(log, rule, wanted))
        raise typer.Exit(check_config(config, wanted, rule=rule, max_calls=max_calls, yes=yes))
    if log is not None:
        calibrate_log(log, rule, request)
        return
    raise typer.Exit(_calibrate.calibrate_config(config, request, rule=rule, max_calls=max_calls, yes=yes))
