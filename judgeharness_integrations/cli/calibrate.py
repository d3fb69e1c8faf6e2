"""`judgeharness calibrate`: its options, and which way of calibrating they name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command, part_of
from judgeharness_integrations.cli._shared_options import SEVERAL, LabelSet, LabelSource, Ledger, WhichJudge, Yes


@dataclass(frozen=True, kw_only=True)
class CalibrateRequest:
    """Measure a rule against labels: CONFIG --labels FILE --out FILE asks, --log LOG --rule RULE does not.

    With the CONFIG that LOG was run with, instead of --rule, the calibration stands behind later runs of it.

    The intervals of the best of several candidates hold for all of them: candidates are counted beside the labels.
    With --holdout one is chosen on one part of the labels, and measured on the other.

    With --check OLD.json instead of --out: has the judge drifted since OLD.json was measured? Only its anchors are
    asked about. Exit code 1: drifted.
    """

    config: Annotated[
        Path | None,
        typer.Argument(
            help="A configuration whose judge is asked about the labelled cases; with --log, the one LOG was run with.",
            show_default=False,
        ),
    ] = None
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            "--gold",
            help="Cases with a gold column; with --log, case_id and gold are enough.",
            show_default=False,
        ),
    ] = None
    log: Annotated[
        Path | None,
        typer.Option(
            help="A verdict log or a run's folder, with gold or with --labels: nobody is asked.", show_default=False
        ),
    ] = None
    rule: Annotated[str | None, typer.Option(help="The rule to measure (with --log).", show_default=False)] = None
    out: Annotated[Path | None, typer.Option(help="Where to save the calibration.", show_default=False)] = None
    judge: WhichJudge = None
    run: Annotated[str | None, typer.Option(help="Only this run of the log (with --log).", show_default="all")] = None
    name: LabelSet = None
    source: LabelSource = None
    positive: Annotated[
        str | None, typer.Option(help="The label precision and recall are about.", show_default=False)
    ] = None
    max_calls: Annotated[
        int | None, typer.Option(help="Upper limit for calls, retries included.", show_default=False)
    ] = None
    by: Annotated[
        tuple[str, ...],
        typer.Option(
            help=f"A column of strata, whose rates are told and tested; {SEVERAL}: strata of them together.",
            show_default=False,
        ),
    ] = ()
    plot: Annotated[
        Path | None, typer.Option(help="A folder for the risk-coverage curve (PNG and SVG).", show_default=False)
    ] = None
    candidates: Annotated[
        int | None,
        typer.Option(
            help="Judges, prompts and rules tried on these labels in all, of which one is chosen.",
            show_default="as many as the ledger knows",
        ),
    ] = None
    holdout: Annotated[
        float | None,
        typer.Option(
            help="Share of the labelled cases to hold back, as 0.5: without --final the others are measured, to "
            "choose on.",
            show_default=False,
        ),
    ] = None
    ledger: Ledger = None
    check: Annotated[
        Path | None, typer.Option(help="A saved calibration: has the judge drifted since?", show_default=False)
    ] = None
    anchors: Annotated[int | None, typer.Option(help="Cases of it to look at again.", show_default="50")] = None
    margin: Annotated[float | None, typer.Option(help="Change that a stable judge may show.", show_default="0.1")] = (
        None
    )
    alpha: Annotated[float | None, typer.Option(help="Level of the test for drift.", show_default="0.05")] = None
    history: Annotated[
        Path | None, typer.Option(help="Where checks are added to.", show_default="CHECK.history.jsonl beside CHECK")
    ] = None
    final: Annotated[
        bool, typer.Option("--final", help="Measure the chosen candidate on what --holdout holds back, once.")
    ] = False
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 when the check is inconclusive, too.")] = False
    yes: Yes = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the calibration as JSON.")] = False


def calibrate_or_check(request: CalibrateRequest) -> int:
    """Calibrate or look for drift, by asking or on a log, and return the exit code."""
    from judgeharness_integrations.cli import _calibrate  # noqa: PLC0415 - keeps --help fast
    from judgeharness_integrations.cli._calibration_output import Request  # noqa: PLC0415
    from judgeharness_integrations.cli._names import names_in  # noqa: PLC0415

    asked = part_of(request, Request, by=", ".join(names_in(request.by)) or None)
    config, log, rule, check = request.config, request.log, request.rule, request.check
    if log is not None:
        _calibrate.refuse_both(check and config, check and request.labels, request.max_calls)
    checking = {name: getattr(request, name) for name in ("anchors", "margin", "alpha", "history")}
    checking["strict"] = request.strict or None
    if check is not None or any(value is not None for value in checking.values()):
        from judgeharness_integrations.cli import _calibrate_check  # noqa: PLC0415 - few look for drift

        wanted = _calibrate_check.check_of(check, asked, read=(config, request.labels, log), **checking)
        if log is not None:
            return _calibrate_check.check_log(log, rule, wanted)
        return _calibrate_check.check_config(config, wanted, rule=rule, max_calls=request.max_calls, yes=request.yes)
    if log is not None:
        from judgeharness_integrations.cli._calibrate_log import calibrate_log  # noqa: PLC0415

        return calibrate_log(log, rule, asked, config=config)
    return _calibrate.calibrate_config(config, asked, rule=rule, max_calls=request.max_calls, yes=request.yes)


calibrate = command(CalibrateRequest, calibrate_or_check)
