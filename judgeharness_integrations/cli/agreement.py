"""`judgeharness agreement`: how far judges and people agree."""

from __future__ import annotations

from typing import Annotated

import typer

from judgeharness_integrations.cli._panel_options import (
    Cluster,
    Columns,
    CriterionName,
    Item,
    Labels,
    Logs,
    Plot,
    Rater,
)
from judgeharness_integrations.cli.kappa import kappa

__all__ = ["alt_test", "app"]

app = typer.Typer(
    help="How far judges and people agree: the alternative annotator test, coefficients of agreement.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)


@app.callback()
def _group() -> None:
    """Keep the group a group, however many commands it has."""


app.command("kappa")(kappa)


@app.command("alt-test")
def alt_test(
    logs: Logs,
    humans: Annotated[
        list[str], typer.Option(help="The humans: names, comma lists or globs (author_*).", show_default=False)
    ],
    candidate: Annotated[
        list[str], typer.Option(help="The judges to test, named likewise; a glob takes no human.", show_default=False)
    ],
    score: Annotated[
        list[str] | None,
        typer.Option(
            help="accuracy, neg_rmse, jaccard, macro_jaccard, hamming; a list, or given several times.",
            show_default="accuracy; numbers neg_rmse; sets jaccard",
        ),
    ] = None,
    epsilon: Annotated[
        list[str] | None,
        typer.Option(help="0.2, a list 0.1,0.2 or a range 0:0.3:0.05, both ends included.", show_default="0.2"),
    ] = None,
    *,
    multiplicative: Annotated[
        bool, typer.Option("--multiplicative", help="Epsilon is a share of the human's advantage probability.")
    ] = False,
    q: Annotated[float, typer.Option(help="Level of the false discovery rate.")] = 0.05,
    cluster: Cluster = None,
    min_instances: Annotated[int, typer.Option(help="Instances an annotator needs to be tested.")] = 30,
    labels: Labels = False,
    criterion: CriterionName = None,
    panel: Annotated[str, typer.Option(help="Who the humans were, for the report.")] = "unknown",
    item: Item = None,
    rater: Rater = None,
    columns: Columns = None,
    plot: Plot = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.alttest/1).")] = False,
) -> None:
    """Test whether a judge may stand in for human annotators (alternative annotator test). Nothing is asked."""
    from judgeharness_integrations.cli._alttest import Input, run_alt_test  # noqa: PLC0415 - keeps --help fast

    source = Input(logs, criterion=criterion, labels=labels, cluster=cluster, item=item, rater=rater, columns=columns)
    run_alt_test(
        source,
        humans=humans,
        candidates=candidate,
        scores=score or None,
        epsilons=epsilon or ["0.2"],
        multiplicative=multiplicative,
        q=q,
        min_instances=min_instances,
        panel_description=panel,
        plot=plot,
        as_json=as_json,
    )
