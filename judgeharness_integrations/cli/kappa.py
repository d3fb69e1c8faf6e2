"""`judgeharness agreement kappa`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import (
    Labels,
    PanelCluster,
    PanelColumns,
    PanelCriterion,
    PanelItem,
    PanelLogs,
    PanelRater,
    PlotFolder,
)


@dataclass(frozen=True, kw_only=True)
class KappaRequest:
    """Say who agrees with whom beyond chance: Cohen, Fleiss, Krippendorff, Gwet, with bootstrap intervals."""

    logs: PanelLogs
    raters: Annotated[
        tuple[str, ...],
        typer.Option(
            help="Who is compared: names, comma lists, globs ('author_*'); without it everybody else.",
            show_default=False,
        ),
    ] = ()
    candidates: Annotated[
        tuple[str, ...],
        typer.Option(
            "--candidate",
            help="Who is compared with each rater and with their most frequent answer; globs too.",
            show_default=False,
        ),
    ] = ()
    coefficient: Annotated[str, typer.Option(help="Of the pairs: cohen, fleiss, alpha or gwet.")] = "cohen"
    weights: Annotated[
        str | None,
        typer.Option(
            help="Whether near answers agree in part: none, linear or quadratic.",
            show_default="quadratic for numbers, else none",
        ),
    ] = None
    order: Annotated[
        str | None,
        typer.Option(help="All labels from one end of the scale to the other, as low,mid,high.", show_default=False),
    ] = None
    criterion: PanelCriterion = None
    cluster: PanelCluster = None
    resamples: Annotated[int, typer.Option(help="Resamples of an interval; 0: no intervals.")] = 2000
    seed: Annotated[int, typer.Option(help="Of the resamples.")] = 0
    plot: PlotFolder = None
    item: PanelItem = None
    rater: PanelRater = None
    columns: PanelColumns = ()
    pairs: Annotated[bool, typer.Option("--pairs", help="List every pair, also of more than 12 raters.")] = False
    labels: Labels = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.kappa/1).")] = False


kappa = command(KappaRequest, "judgeharness_integrations.cli._kappa:kappa_of_logs")
