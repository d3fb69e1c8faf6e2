"""`judgeharness benchmark sample`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import SEVERAL, PairStates

__all__ = ["SampleRequest", "sample"]

_GROUPS = ("domain", "failure_type")


@dataclass(frozen=True, kw_only=True)
class SampleRequest:
    """Draw a stratified sample of the pairs, as many of each kind as its share, for judge --sample.

    The same seed draws the same pairs, whatever was asked since.
    """

    folder: Annotated[Path, typer.Argument(help="The benchmark's folder.", show_default=False)]
    n: Annotated[int, typer.Option("--n", help="Pairs to draw.", show_default=False)]
    by: Annotated[
        tuple[str, ...],
        typer.Option(
            help=f"Columns of the strata: domain, failure_type, behaviour, n_rounds ...; '' for none; {SEVERAL}.",
            show_default=",".join(_GROUPS),
        ),
    ] = _GROUPS
    states: PairStates = "accepted"
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0
    out: Annotated[Path | None, typer.Option(help="File to write.", show_default="sample.json in the folder")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the sample as JSON.")] = False


sample = command(SampleRequest, "judgeharness_integrations.cli.benchmark._sample:draw_sample")
