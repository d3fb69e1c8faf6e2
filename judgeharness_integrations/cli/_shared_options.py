"""Options that several commands have, each told once: a request takes them as the types of its fields."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

__all__ = ["SEVERAL", "AnswerMode", "BenchmarkFolder", "CutTies", "Labels", "Unparsed", "Yes"]

SEVERAL: Final = "may be given several times, or with commas between"

AnswerMode: TypeAlias = Annotated[
    str | None, typer.Option(help="pairwise or pointwise answers.", show_default="pairwise where there are any")
]
BenchmarkFolder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="DIR", help="A benchmark's folder.", show_default=False)
]
CutTies: TypeAlias = Annotated[str, typer.Option(help="Pairs tied at the cut: keep or cut them all.")]
Labels: TypeAlias = Annotated[bool, typer.Option("--labels", help="Read every verdict as a label, numbers too.")]
Yes: TypeAlias = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before the first call; without a terminal nothing is asked.")
]
Unparsed: TypeAlias = Annotated[
    str, typer.Option("--failures", help="Unparsed and refused answers: wrong, or missing as failed calls are.")
]
