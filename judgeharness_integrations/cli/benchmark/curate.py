"""`judgeharness benchmark curate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["curate"]

_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A benchmark's folder.", show_default=False)]
_Mode = Annotated[
    str | None, typer.Option(help="pairwise or pointwise answers.", show_default="pairwise where there are any")
]
_Cut = Annotated[float, typer.Option(help="Share of the hardest of the pairs that tell judges apart, to leave out.")]
_CutTies = Annotated[bool, typer.Option("--cut-ties", help="Cut all pairs tied at the cut; else all are kept.")]
_KeepNoise = Annotated[bool, typer.Option("--keep-noise", help="Keep pairs that people found to be noise.")]
_Failures = Annotated[
    str,
    typer.Option(help="Unparsed and refused answers: wrong, or missing as failed calls are."),
]
_By = Annotated[str, typer.Option(help="Columns to count pairs by, with commas between.")]


def curate(
    folder: _Folder,
    mode: _Mode = None,
    cut: _Cut = 0.05,
    failures: _Failures = "wrong",
    by: _By = "domain,failure_type",
    *,
    cut_ties: _CutTies = False,
    keep_noise: _KeepNoise = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.benchmark_curate/1).")] = False,
) -> None:
    """Leave out noise, unanimous and hardest pairs and rank again by the rest: curated.jsonl. Nothing is asked."""
    from judgeharness_integrations.cli.benchmark import _curate  # noqa: PLC0415 - keeps --help fast

    wishes = _curate.Wishes(
        mode=mode,
        cut=cut,
        cut_ties="cut" if cut_ties else "keep",
        failures=failures,
        keep_noise=keep_noise,
        by=by,
        as_json=as_json,
    )
    _curate.curate_benchmark(folder, wishes)
