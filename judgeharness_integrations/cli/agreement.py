"""`judgeharness agreement`: how far judges and people agree."""

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
from judgeharness_integrations.cli.kappa import kappa

agreement = typer.Typer(
    help="How far judges and people agree: the alternative annotator test, coefficients of agreement.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)


@agreement.callback()
def _group() -> None:
    """Keep the group a group, however many commands it has."""


@dataclass(frozen=True, kw_only=True)
class AltTestRequest:
    """Test whether a judge may stand in for human annotators (alternative annotator test). Nothing is asked."""

    logs: PanelLogs
    humans: Annotated[
        tuple[str, ...], typer.Option(help="The humans: names, comma lists or globs (author_*).", show_default=False)
    ]
    candidates: Annotated[
        tuple[str, ...],
        typer.Option(
            "--candidate", help="The judges to test, named likewise; a glob takes no human.", show_default=False
        ),
    ]
    scores: Annotated[
        tuple[str, ...],
        typer.Option(
            "--score",
            help="accuracy, neg_rmse, jaccard, macro_jaccard, hamming; a list, or given several times.",
            show_default="accuracy; numbers neg_rmse; sets jaccard",
        ),
    ] = ()
    epsilons: Annotated[
        tuple[str, ...],
        typer.Option(
            "--epsilon", help="0.2, a list 0.1,0.2 or a range 0:0.3:0.05, both ends included.", show_default="0.2"
        ),
    ] = ("0.2",)
    multiplicative: Annotated[
        bool, typer.Option("--multiplicative", help="Epsilon is a share of the human's advantage probability.")
    ] = False
    q: Annotated[float, typer.Option(help="Level of the false discovery rate.")] = 0.05
    cluster: PanelCluster = None
    min_instances: Annotated[int, typer.Option(help="Instances an annotator needs to be tested.")] = 30
    labels: Labels = False
    criterion: PanelCriterion = None
    panel_description: Annotated[str, typer.Option("--panel", help="Who the humans were, for the report.")] = "unknown"
    item: PanelItem = None
    rater: PanelRater = None
    columns: PanelColumns = ()
    plot: PlotFolder = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.alttest/1).")] = False


alt_test = command(AltTestRequest, "judgeharness_integrations.cli._alttest:run_alt_test")
agreement.command("kappa")(kappa)
agreement.command("alt-test")(alt_test)
