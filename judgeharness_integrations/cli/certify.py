"""`judgeharness certify`: its options, and the decisions they name certified."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command, part_of
from judgeharness_integrations.cli._shared_options import (
    SEVERAL,
    ClusterColumn,
    LabelSet,
    LabelSource,
    Ledger,
    OnlyRun,
    WhichJudge,
)


@dataclass(frozen=True, kw_only=True)
class CertifyRequest:
    """From which score on decisions agree with people as often as asked for, the others being left to people.

    Exit code 1: refused, since these samples and labels cannot show it for any decisions of a criterion or stratum.
    """

    log: Annotated[Path, typer.Argument(help="A verdict log, with gold or with --labels.", show_default=False)]
    agreement: Annotated[float, typer.Option(help="How often certified decisions have to agree with labels.")] = 0.9
    delta: Annotated[float, typer.Option(help="1 - confidence.")] = 0.1
    rule: Annotated[
        str | None, typer.Option(help="The rule that decides.", show_default="the configuration's, majority | median")
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(help="The configuration LOG was run with: the certificate holds for it.", show_default=False),
    ] = None
    score: Annotated[str, typer.Option(help="How sure a decision is: consistency, margin or column:NAME.")] = (
        "consistency"
    )
    tolerance: Annotated[float, typer.Option(help="How far scores may lie from the label and still agree.")] = 1.0
    by: Annotated[
        tuple[str, ...],
        typer.Option(
            help=f"A column of strata, each with a threshold of its own; {SEVERAL}: strata of them together.",
            show_default=False,
        ),
    ] = ()
    cluster: ClusterColumn = None
    labels: Annotated[
        Path | None,
        typer.Option("--labels", "--gold", help="A file with case_id and gold, instead of LOG's.", show_default=False),
    ] = None
    judge: WhichJudge = None
    run: OnlyRun = None
    name: LabelSet = None
    source: LabelSource = None
    out: Annotated[
        Path | None, typer.Option(help="Where to save the certificate; a refusal is not.", show_default=False)
    ] = None
    candidates: Annotated[
        int | None,
        typer.Option(
            help="How many judges, rules, scores or strata were tried on these labels.", show_default="those counted"
        ),
    ] = None
    ledger: Ledger = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.certificate/1).")] = False


def certify_decisions(request: CertifyRequest) -> int:
    """Certify what a log decides and return the exit code."""
    from judgeharness_integrations.analysis.certifying.measuring import Wanted  # noqa: PLC0415 - keeps --help fast
    from judgeharness_integrations.cli._calibration_output import Request  # noqa: PLC0415
    from judgeharness_integrations.cli._certify import certify_log  # noqa: PLC0415
    from judgeharness_integrations.cli._names import names_in  # noqa: PLC0415

    wanted = part_of(request, Wanted, stratum=", ".join(names_in(request.by)) or None, candidates=1)
    asked = part_of(request, Request, by=None)
    return certify_log(request.log, wanted, asked, rule=request.rule, config=request.config)


certify = command(CertifyRequest, certify_decisions)
