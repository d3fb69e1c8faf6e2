"""`judgeharness corrected-rate`: its options."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import ClusterColumn, Labels, WhichJudge


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The way in without a log."""

    passed: Annotated[int | None, typer.Option(help="Items judged positive, without a LOG.", show_default=False)] = None
    of: Annotated[int | None, typer.Option(help="Items judged, abstentions included.", show_default=False)] = None
    sensitivity: Annotated[
        str | None, typer.Option(help="Positive labelled items judged positive, as 180/200.", show_default=False)
    ] = None
    specificity: Annotated[
        str | None, typer.Option(help="Other labelled items not judged positive, as 140/200.", show_default=False)
    ] = None

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        return [f"--{part.name}" for part in fields(self) if getattr(self, part.name) is not None]


@dataclass(frozen=True, kw_only=True)
class CorrectedRateRequest:
    """Correct a judged rate with labels: LOG --rule RULE, with --gold or --calibration FILE, or counts."""

    log: Annotated[
        Path | None,
        typer.Argument(
            help="A verdict log, or a run's folder, whose decisions are to be corrected.", show_default=False
        ),
    ] = None
    rule: Annotated[str | None, typer.Option(help="The rule that decides (with LOG).", show_default=False)] = None
    judge: WhichJudge = None
    criterion: Annotated[
        str | None, typer.Option(help="Which criterion, when there are several.", show_default=False)
    ] = None
    positive: Annotated[
        str | None, typer.Option(help="The label whose rate is asked for.", show_default="PASS of PASS and FAIL")
    ] = None
    calibration: Annotated[
        Path | None,
        typer.Option(help="A saved calibration whose errors are used, instead of gold in LOG.", show_default=False),
    ] = None
    gold: Annotated[
        Path | None, typer.Option(help="A file with case_id and gold, instead of gold in LOG.", show_default=False)
    ] = None
    cluster: ClusterColumn = None
    counts: Counts = field(default_factory=Counts)
    labels_are: Annotated[
        str | None,
        typer.Option(
            help="random: labelled items are a random sample of the items; other-mix: they come from elsewhere.",
            show_default="undeclared: nothing is chosen",
        ),
    ] = None
    labels: Labels = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.corrected_rate/1).")] = False


corrected_rate = command(CorrectedRateRequest, "judgeharness_integrations.cli._corrected_rate:print_measured")
