"""`judgeharness benchmark show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["show"]

_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A benchmark's folder.", show_default=False)]
_Pair = Annotated[
    str, typer.Argument(metavar="ID", help="A pair's id or number: pair-00003, or 3.", show_default=False)
]
_Full = Annotated[
    bool, typer.Option("--full", help="Print both conversations, plans, every claim, and the judges' reasoning too.")
]


def show(folder: _Folder, pair_id: _Pair, *, full: _Full = False) -> None:
    """Show one pair: conditions, verification layer by layer, and what every judge said of verdict, turn and type."""
    from judgeharness_integrations.cli.benchmark import _show  # noqa: PLC0415 - keeps --help fast

    _show.show_pair(folder, pair_id, full=full)
