"""The options of `judgeharness calibrate` and `certify`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import (
    SEVERAL,
    ClusterColumn,
    LabelSet,
    LabelSource,
    Ledger,
    OnlyRun,
    WhichJudge,
    Yes,
)


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
            help="A configuration whose judge is asked about the labelled cases; with --log, the one LOG was run with."
        ),
    ] = None
    labels: Annotated[
        Path | None,
        typer.Option("--labels", "--gold", help="Cases with a gold column; with --log, case_id and gold are enough."),
    ] = None
    log: Annotated[
        Path | None, typer.Option(help="A verdict log or a run's folder, with gold or with --labels: nobody is asked.")
    ] = None
    rule: Annotated[str | None, typer.Option(help="The rule to measure (with --log).")] = None
    out: Annotated[Path | None, typer.Option(help="Where to save the calibration.")] = None
    judge: WhichJudge = None
    run: Annotated[str | None, typer.Option(help="Only this run of the log (with --log).", show_default="all")] = None
    name: LabelSet = None
    source: LabelSource = None
    positive: Annotated[str | None, typer.Option(help="The label precision and recall are about.")] = None
    max_calls: Annotated[int | None, typer.Option(help="Upper limit for calls, retries included.")] = None
    by: Annotated[
        tuple[str, ...],
        typer.Option(help=f"A column of strata, whose rates are told and tested; {SEVERAL}: strata of them together."),
    ] = ()
    plot: Annotated[Path | None, typer.Option(help="A folder for the risk-coverage curve (PNG and SVG).")] = None
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
            "choose on."
        ),
    ] = None
    ledger: Ledger = None
    check: Annotated[Path | None, typer.Option(help="A saved calibration: has the judge drifted since?")] = None
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


calibrate = command(CalibrateRequest, "judgeharness_integrations.cli.calibrate:calibrate_or_check")


@dataclass(frozen=True, kw_only=True)
class CertifyRequest:
    """From which score on decisions agree with people as often as asked for, the others being left to people.

    Exit code 1: refused, since these samples and labels cannot show it for any decisions of a criterion or stratum.
    """

    log: Annotated[Path, typer.Argument(help="A verdict log, with gold or with --labels.")]
    agreement: Annotated[float, typer.Option(help="How often certified decisions have to agree with labels.")] = 0.9
    delta: Annotated[float, typer.Option(help="1 - confidence.")] = 0.1
    rule: Annotated[
        str | None, typer.Option(help="The rule that decides.", show_default="the configuration's, majority | median")
    ] = None
    config: Annotated[
        Path | None, typer.Option(help="The configuration LOG was run with: the certificate holds for it.")
    ] = None
    score: Annotated[str, typer.Option(help="How sure a decision is: consistency, margin or column:NAME.")] = (
        "consistency"
    )
    tolerance: Annotated[float, typer.Option(help="How far scores may lie from the label and still agree.")] = 1.0
    by: Annotated[
        tuple[str, ...],
        typer.Option(help=f"A column of strata, each with a threshold of its own; {SEVERAL}: strata of them together."),
    ] = ()
    cluster: ClusterColumn = None
    labels: Annotated[
        Path | None, typer.Option("--labels", "--gold", help="A file with case_id and gold, instead of LOG's.")
    ] = None
    judge: WhichJudge = None
    run: OnlyRun = None
    name: LabelSet = None
    source: LabelSource = None
    out: Annotated[Path | None, typer.Option(help="Where to save the certificate; a refusal is not.")] = None
    candidates: Annotated[
        int | None,
        typer.Option(
            help="How many judges, rules, scores or strata were tried on these labels.", show_default="those counted"
        ),
    ] = None
    ledger: Ledger = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.certificate/1).")] = False


certify = command(CertifyRequest, "judgeharness_integrations.cli.certify:certify_decisions")
