"""`judgeharness agreement kappa`."""

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

__all__ = ["kappa"]


def kappa(  # noqa: PLR0917 - typer passes every option by name
    logs: Logs,
    raters: Annotated[
        list[str] | None,
        typer.Option(
            help="Who is compared: names, comma lists, globs ('author_*'); without it everybody else.",
            show_default=False,
        ),
    ] = None,
    candidate: Annotated[
        list[str] | None,
        typer.Option(
            help="Who is compared with each rater and with their most frequent answer; globs too.", show_default=False
        ),
    ] = None,
    coefficient: Annotated[str, typer.Option(help="Of the pairs: cohen, fleiss, alpha or gwet.")] = "cohen",
    weights: Annotated[
        str | None,
        typer.Option(
            help="Whether near answers agree in part: none, linear or quadratic.",
            show_default="quadratic for numbers, else none",
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(help="All labels from one end of the scale to the other, as low,mid,high.", show_default=False),
    ] = None,
    criterion: CriterionName = None,
    cluster: Cluster = None,
    resamples: Annotated[int, typer.Option(help="Resamples of an interval; 0: no intervals.")] = 2000,
    seed: Annotated[int, typer.Option(help="Of the resamples.")] = 0,
    plot: Plot = None,
    item: Item = None,
    rater: Rater = None,
    columns: Columns = None,
    *,
    pairs: Annotated[bool, typer.Option("--pairs", help="List every pair, also of more than 12 raters.")] = False,
    labels: Labels = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.kappa/1).")] = False,
) -> None:
    """Say who agrees with whom beyond chance: Cohen, Fleiss, Krippendorff, Gwet, with bootstrap intervals."""
    from judgeharness_integrations.agreement.kappa.bootstrap import Bootstrap  # noqa: PLC0415 - keeps --help fast
    from judgeharness_integrations.cli._alttest import Input  # noqa: PLC0415
    from judgeharness_integrations.cli._kappa import KappaRequest, kappa_of_logs  # noqa: PLC0415

    kappa_of_logs(
        Input(logs, criterion=criterion, labels=labels, cluster=cluster, item=item, rater=rater, columns=columns),
        KappaRequest(
            raters=raters or (),
            candidates=candidate or (),
            coefficient=coefficient,
            weights=weights,
            order=tuple(name.strip() for name in order.split(",")) if order else (),
            bootstrap=Bootstrap(replicates=resamples, seed=seed),
            pairs=pairs,
            plot=plot,
            as_json=as_json,
        ),
    )
