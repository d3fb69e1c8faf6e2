"""`judgeharness corrected-rate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["corrected_rate"]

_Log = Annotated[
    Path | None,
    typer.Argument(help="A verdict log, or a run's folder, whose decisions are to be corrected.", show_default=False),
]


def corrected_rate(  # noqa: PLR0917 - typer passes every option by name
    log: _Log = None,
    rule: Annotated[str | None, typer.Option(help="The rule that decides (with LOG).", show_default=False)] = None,
    judge: Annotated[str | None, typer.Option(help="Which judge, when there are several.", show_default=False)] = None,
    criterion: Annotated[
        str | None, typer.Option(help="Which criterion, when there are several.", show_default=False)
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="The label whose rate is asked for.", show_default="PASS of PASS and FAIL")
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(help="A saved calibration whose errors are used, instead of gold in LOG.", show_default=False),
    ] = None,
    gold: Annotated[
        Path | None, typer.Option(help="A file with case_id and gold, instead of gold in LOG.", show_default=False)
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="A column of LOG: its equal values belong together.", show_default="cluster")
    ] = None,
    passed: Annotated[
        int | None, typer.Option(help="Items judged positive, without a LOG.", show_default=False)
    ] = None,
    of: Annotated[int | None, typer.Option(help="Items judged, abstentions included.", show_default=False)] = None,
    sensitivity: Annotated[
        str | None, typer.Option(help="Positive labelled items judged positive, as 180/200.", show_default=False)
    ] = None,
    specificity: Annotated[
        str | None, typer.Option(help="Other labelled items not judged positive, as 140/200.", show_default=False)
    ] = None,
    labels_are: Annotated[
        str | None,
        typer.Option(
            help="random: labelled items are a random sample of the items; other-mix: they come from elsewhere.",
            show_default="undeclared: nothing is chosen",
        ),
    ] = None,
    *,
    labels: Annotated[bool, typer.Option("--labels", help="Read every verdict as a label, numbers too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.corrected_rate/1).")] = False,
) -> None:
    """Correct a judged rate with labels: LOG --rule RULE, with --gold or --calibration FILE, or counts."""
    from judgeharness_integrations.cli import _corrected_rate as work  # noqa: PLC0415 - keeps --help fast
    from judgeharness_integrations.cli._corrected_rate import Counts, Request  # noqa: PLC0415

    counts = Counts(passed=passed, of=of, sensitivity=sensitivity, specificity=specificity)
    request = Request(
        log=log,
        rule=rule,
        judge=judge,
        criterion=criterion,
        positive=positive,
        calibration=calibration,
        gold=gold,
        cluster=cluster,
        labels=labels,
        labels_are=work.assumption(labels_are),
    )
    work.print_corrected(*work.measured(request, counts), as_json=as_json)
