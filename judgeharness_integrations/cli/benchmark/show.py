"""`judgeharness benchmark show`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import BenchmarkFolder

__all__ = ["ShowRequest", "show"]


@dataclass(frozen=True, kw_only=True)
class ShowRequest:
    """Show one pair: conditions, verification layer by layer, and what every judge said of verdict, turn and type."""

    folder: BenchmarkFolder
    pair_id: Annotated[
        str, typer.Argument(metavar="ID", help="A pair's id or number: pair-00003, or 3.", show_default=False)
    ]
    full: Annotated[
        bool,
        typer.Option("--full", help="Print both conversations, plans, every claim, and the judges' reasoning too."),
    ] = False


show = command(ShowRequest, "judgeharness_integrations.cli.benchmark._show:show_pair")
