"""The options of every command that reads a panel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = ["Cluster", "Columns", "CriterionName", "Item", "Labels", "Logs", "Plot", "Rater"]

Logs: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        metavar="LOG...",
        help="Verdict logs whose judge column names humans and candidates, tables with one row an item and annotator, "
        "or JSON of {annotator: {item: label}}; each also as .gz.",
        show_default=False,
    ),
]
Labels: TypeAlias = Annotated[bool, typer.Option("--labels", help="Read every verdict as a label, numbers too.")]
CriterionName: TypeAlias = Annotated[
    str | None, typer.Option(help="The criterion, where a log has several.", show_default=False)
]
Cluster: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The column of what items come from (text, author), where several do.", show_default=False),
]
Item: TypeAlias = Annotated[str | None, typer.Option(help="The column of the item.", show_default=False)]
Rater: TypeAlias = Annotated[str | None, typer.Option(help="The column of the annotator.", show_default=False)]
Columns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="The column of labels, or 0/1 columns as a,b or globs.", show_default=False),
]
Plot: TypeAlias = Annotated[Path | None, typer.Option(help="A folder for plots (PNG and SVG).", show_default=False)]
