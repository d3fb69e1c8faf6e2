"""`judgeharness certify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._curation_options import SEVERAL

__all__ = ["certify"]


def certify(  # noqa: PLR0917 - typer passes every option by name
    log: Annotated[Path, typer.Argument(help="A verdict log, with gold or with --labels.", show_default=False)],
    agreement: Annotated[float, typer.Option(help="How often certified decisions have to agree with labels.")] = 0.9,
    delta: Annotated[float, typer.Option(help="1 - confidence.")] = 0.1,
    rule: Annotated[
        str | None, typer.Option(help="The rule that decides.", show_default="the configuration's, majority | median")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="The configuration LOG was run with: the certificate holds for it.", show_default=False),
    ] = None,
    score: Annotated[
        str, typer.Option(help="How sure a decision is: consistency, margin or column:NAME.")
    ] = "consistency",
    tolerance: Annotated[float, typer.Option(help="How far scores may lie from the label and still agree.")] = 1.0,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help=f"A column of strata, each with a threshold of its own; {SEVERAL}: strata of them together.",
            show_default=False,
        ),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="A column of LOG: its equal values belong together.", show_default="cluster")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", "--gold", help="A file with case_id and gold, instead of LOG's.", show_default=False),
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Which judge, when there are several.", show_default=False)] = None,
    run: Annotated[str | None, typer.Option(help="Only this run of the log.", show_default="all")] = None,
    name: Annotated[
        str | None, typer.Option(help="What reports call the label set.", show_default="the file's name")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(help="Where labels come from: human, executable, model:<name>.", show_default="has to be said"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to save the certificate; a refusal is not.", show_default=False)
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            help="How many judges, rules, scores or strata were tried on these labels.", show_default="those counted"
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(help="Where candidates are counted (digests alone).", show_default="beside the labels"),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.certificate/1).")] = False,
) -> None:
    """From which score on decisions agree with people as often as asked for, the others being left to people.

    Exit code 1: refused, since these samples and labels cannot show it for any decisions of a criterion or stratum.
    """
    from judgeharness_integrations.certifying.measuring import Wanted  # noqa: PLC0415 - keeps --help fast
    from judgeharness_integrations.cli._calibration_output import Request  # noqa: PLC0415
    from judgeharness_integrations.cli._certify import certify_log  # noqa: PLC0415
    from judgeharness_integrations.cli._names import names_in  # noqa: PLC0415

    strata = ", ".join(names_in(by or ())) or None
    wanted = Wanted(agreement=agreement, delta=delta, score=score, tolerance=tolerance, stratum=strata, cluster=cluster)
    request = Request(
        labels=labels,
        out=out,
        judge=judge,
        name=name,
        source=source,
        as_json=as_json,
        run=run,
        candidates=candidates,
        ledger=ledger,
    )
    raise typer.Exit(certify_log(log, wanted, request, rule=rule, config=config))
