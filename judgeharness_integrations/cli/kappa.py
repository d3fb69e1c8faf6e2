"""`judgeharness agreement kappa`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["kappa"]


def kappa(  # noqa: PLR0917 - typer passes every option by name
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            help="Verdict logs whose judge column names the raters, tables with one row an item and annotator, or JSON "
            "of {annotator: {item: label}}; each also as .gz.",
            show_default=False,
        ),
    ],
    raters: Annotated[
        list[str] | None,
        typer.Option(
            help="Who is compared: names, comma lists, globs ('author_*'); without it everybody else.",
            show_default=False,
        ),
    ] = None,
    candidate: Annotated[
        list[str] | None,
        typer.Option(help="Who is compared with each rater and with their majority; globs too.", show_default=False),
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
    criterion: Annotated[str | None, typer.Option(help="Which criterion of the log.", show_default=False)] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Column of items that belong together: resamples draw those.", show_default=False)
    ] = None,
    resamples: Annotated[int, typer.Option(help="Resamples of an interval; 0: no intervals.")] = 2000,
    seed: Annotated[int, typer.Option(help="Of the resamples.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="A folder for heat maps (PNG and SVG).", show_default=False)] = None,
    item: Annotated[str | None, typer.Option(help="The column of the item.", show_default=False)] = None,
    rater: Annotated[str | None, typer.Option(help="The column of the annotator.", show_default=False)] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="The column of labels, or 0/1 columns as a,b or globs.", show_default=False),
    ] = None,
    *,
    labels: Annotated[bool, typer.Option("--labels", help="Read every verdict as a label, numbers too.")] = False,
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
            plot=plot,
            as_json=as_json,
        ),
    )
