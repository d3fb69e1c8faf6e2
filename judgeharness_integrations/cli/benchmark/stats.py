"""`judgeharness benchmark stats`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli.benchmark._models import Models

__all__ = ["stats"]

_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A benchmark's folder.", show_default=False)]
_Mode = Annotated[
    str | None, typer.Option(help="pairwise or pointwise answers.", show_default="pairwise where there are any")
]
_By = Annotated[
    str, typer.Option(help="Columns to count pairs by, with commas between: domain, failure_type, behaviour, n_rounds.")
]
_Cut = Annotated[float, typer.Option(help="Share of the hardest of the pairs that tell judges apart, as curate cuts.")]
_CutTies = Annotated[bool, typer.Option("--cut-ties", help="Cut all pairs tied at the cut; else all are kept.")]


def stats(
    folder: _Folder,
    by: _By = "failure_type,behaviour,domain,n_rounds",
    mode: _Mode = None,
    cut: _Cut = 0.05,
    models: Models = None,
    *,
    cut_ties: _CutTies = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.benchmark_stats/1).")] = False,
) -> None:
    """Say what became of the pairs, from the plan to those that are kept, and what each step cost. Nothing is asked."""
    from judgeharness_integrations.cli.benchmark import _stats  # noqa: PLC0415 - keeps --help fast

    wishes = _stats.Wishes(
        by=by, mode=mode, cut=cut, cut_ties="cut" if cut_ties else "keep", models=models, as_json=as_json
    )
    _stats.stats_of_benchmark(folder, wishes)
