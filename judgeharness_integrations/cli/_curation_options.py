"""The options of every command that curates pairs or divides them into groups."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import typer

__all__ = ["SEVERAL", "CutTies"]

SEVERAL: Final = "may be given several times, or with commas between"

CutTies: TypeAlias = Annotated[str, typer.Option(help="Pairs tied at the cut: keep or cut them all.")]
