"""`judgeharness benchmark stats`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._shared_options import SEVERAL, CutTies
from judgeharness_integrations.cli.benchmark._models import Models

__all__ = ["stats"]

_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A benchmark's folder.", show_default=False)]
_Mode = Annotated[
    str | None, typer.Option(help="pairwise or pointwise answers.", show_default="pairwise where there are any")
]
_GROUPS = ("failure_type", "behaviour", "domain", "n_rounds")
_By = Annotated[
    list[str] | None,
    typer.Option(
        help=f"Columns to count pairs by: domain, failure_type, behaviour, n_rounds; {SEVERAL}.",
        show_default=",".join(_GROUPS),
    ),
]
_Cut = Annotated[float, typer.Option(help="Share of the hardest of the pairs that tell judges apart, as curate cuts.")]


def stats(
    folder: _Folder,
    by: _By = None,
    mode: _Mode = None,
    cut: _Cut = 0.05,
    models: Models = None,
    *,
    cut_ties: CutTies = "keep",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.benchmark_stats/1).")] = False,
) -> None:
    """Say what became of the pairs, from the plan to those that are kept, and what each step cost. Nothing is asked."""
    from judgeharness_integrations.cli.benchmark import _stats  # noqa: PLC0415 - keeps --help fast

    wishes = _stats.Wishes(
        by=_GROUPS if by is None else by, mode=mode, cut=cut, cut_ties=cut_ties, models=models, as_json=as_json
    )
    _stats.stats_of_benchmark(folder, wishes)
