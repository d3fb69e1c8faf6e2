"""`judgeharness calibrate`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judgeharness_integrations.cli._shared_options import SEVERAL

if TYPE_CHECKING:
    from judgeharness_integrations.cli._calibration_output import Request

__all__ = ["calibrate"]

_Config = Annotated[
    Path | None,
    typer.Argument(
        help="A configuration whose judge is asked about the labelled cases; with --log, the one LOG was run with.",
        show_default=False,
    ),
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
    typer.Option(
        help="A verdict log or a run's folder, with gold or with --labels: nobody is asked.", show_default=False
    ),
]
_Rule = Annotated[str | None, typer.Option(help="The rule to measure (with --log).", show_default=False)]
_Out = Annotated[Path | None, typer.Option(help="Where to save the calibration.", show_default=False)]
_Judge = Annotated[str | None, typer.Option(help="Which judge, when there are several.", show_default=False)]
_Run = Annotated[str | None, typer.Option(help="Only this run of the log (with --log).", show_default="all")]
_Name = Annotated[str | None, typer.Option(help="What reports call the label set.", show_default="the file's name")]
_Source = Annotated[
    str | None,
    typer.Option(help="Where labels come from: human, executable, model:<name>.", show_default="has to be said"),
]
_Positive = Annotated[str | None, typer.Option(help="The label precision and recall are about.", show_default=False)]
_MaxCalls = Annotated[int | None, typer.Option(help="Upper limit for calls, retries included.", show_default=False)]
_By = Annotated[
    list[str] | None,
    typer.Option(
        help=f"A column of strata, whose rates are told and tested; {SEVERAL}: strata of them together.",
        show_default=False,
    ),
]
_Plot = Annotated[
    Path | None, typer.Option(help="A folder for the risk-coverage curve (PNG and SVG).", show_default=False)
]
_Candidates = Annotated[
    int | None,
    typer.Option(
        help="Judges, prompts and rules tried on these labels in all, of which one is chosen.",
        show_default="as many as the ledger knows",
    ),
]
_Holdout = Annotated[
    float | None,
    typer.Option(
        help="Share of the labelled cases to hold back, as 0.5: without --final the others are measured, to choose on.",
        show_default=False,
    ),
]
_Final = Annotated[
    bool, typer.Option("--final", help="Measure the chosen candidate on what --holdout holds back, once.")
]
_Ledger = Annotated[
    Path | None,
    typer.Option(help="Where candidates are counted (digests alone).", show_default="beside the labels"),
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

_Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before the first call; without a terminal nothing is asked.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print the calibration as JSON.")]


def calibrate(  # noqa: PLR0917 - typer passes every option by name
    config: _Config = None,
    labels: _Labels = None,
    log: _Log = None,
    rule: _Rule = None,
    out: _Out = None,
    judge: _Judge = None,
    run: _Run = None,
    name: _Name = None,
    source: _Source = None,
    positive: _Positive = None,
    max_calls: _MaxCalls = None,
    by: _By = None,
    plot: _Plot = None,
    candidates: _Candidates = None,
    holdout: _Holdout = None,
    ledger: _Ledger = None,
    check: _Check = None,
    anchors: _Anchors = None,
    margin: _Margin = None,
    alpha: _Alpha = None,
    history: _History = None,
    *,
    final: _Final = False,
    strict: _Strict = False,
    yes: _Yes = False,
    as_json: _Json = False,
) -> None:
    """Measure a rule against labels: CONFIG --labels FILE --out FILE asks, --log LOG --rule RULE does not.

    With the CONFIG that LOG was run with, instead of --rule, the calibration stands behind later runs of it.

    The intervals of the best of several candidates hold for all of them: candidates are counted beside the labels.
    With --holdout one is chosen on one part of the labels, and measured on the other.

    With --check OLD.json instead of --out: has the judge drifted since OLD.json was measured? Only its anchors are
    asked about. Exit code 1: drifted.
    """
    from judgeharness_integrations.cli._calibration_output import Request  # noqa: PLC0415 - keeps --help fast
    from judgeharness_integrations.cli._names import names_in  # noqa: PLC0415

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
        candidates=candidates,
        holdout=holdout,
        final=final,
        ledger=ledger,
        by=", ".join(names_in(by or ())) or None,
    )
    checking = {"anchors": anchors, "margin": margin, "alpha": alpha, "history": history, "strict": strict or None}
    raise typer.Exit(
        _exit_code(config, log, request, check, checking=checking, rule=rule, max_calls=max_calls, yes=yes)
    )


def _exit_code(
    config: Path | None,
    log: Path | None,
    request: Request,
    check: Path | None,
    *,
    checking: Mapping[str, Any],
    rule: str | None,
    max_calls: int | None,
    yes: bool,
) -> int:
    """Calibrate or look for drift, by asking or on a log, and return the exit code."""
    from judgeharness_integrations.cli import _calibrate  # noqa: PLC0415 - keeps --help fast

    if log is not None:
        _calibrate.refuse_both(check and config, check and request.labels, max_calls)
    if check is not None or any(value is not None for value in checking.values()):
        from judgeharness_integrations.cli import _calibrate_check  # noqa: PLC0415 - few look for drift

        wanted = _calibrate_check.check_of(check, request, read=(config, request.labels, log), **checking)
        if log is not None:
            return _calibrate_check.check_log(log, rule, wanted)
        return _calibrate_check.check_config(config, wanted, rule=rule, max_calls=max_calls, yes=yes)
    if log is not None:
        from judgeharness_integrations.cli._calibrate_log import calibrate_log  # noqa: PLC0415

        return calibrate_log(log, rule, request, config=config)
    return _calibrate.calibrate_config(config, request, rule=rule, max_calls=max_calls, yes=yes)
