"""`judgeharness benchmark sample`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._shared_options import SEVERAL

__all__ = ["sample"]

_Folder = Annotated[Path, typer.Argument(help="The benchmark's folder.", show_default=False)]
_N = Annotated[int, typer.Option("--n", help="Pairs to draw.", show_default=False)]
_GROUPS = ("domain", "failure_type")
_By = Annotated[
    list[str] | None,
    typer.Option(
        help=f"Columns of the strata: domain, failure_type, behaviour, n_rounds ...; '' for none; {SEVERAL}.",
        show_default=",".join(_GROUPS),
    ),
]
_States = Annotated[str, typer.Option(help="Pairs in these states: accepted, unverified, rejected.")]
_Seed = Annotated[int, typer.Option(help="Of the draw.")]
_Out = Annotated[Path | None, typer.Option(help="File to write.", show_default="sample.json in the folder")]
_Json = Annotated[bool, typer.Option("--json", help="Print the sample as JSON.")]


def sample(
    folder: _Folder,
    *,
    n: _N,
    by: _By = None,
    states: _States = "accepted",
    seed: _Seed = 0,
    out: _Out = None,
    as_json: _Json = False,
) -> None:
    """Draw a stratified sample of the pairs, as many of each kind as its share, for judge --sample.

    The same seed draws the same pairs, whatever was asked since.
    """
    from judgeharness_integrations.cli.benchmark._sample import SampleRequest, draw_sample  # noqa: PLC0415

    draw_sample(
        SampleRequest(
            folder=folder, n=n, by=_GROUPS if by is None else by, states=states, seed=seed, out=out, as_json=as_json
        )
    )
