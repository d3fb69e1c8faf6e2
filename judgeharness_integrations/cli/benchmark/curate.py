"""`judgeharness benchmark curate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._shared_options import SEVERAL, CutTies

__all__ = ["curate"]

_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A benchmark's folder.", show_default=False)]
_Mode = Annotated[
    str | None, typer.Option(help="pairwise or pointwise answers.", show_default="pairwise where there are any")
]
_Cut = Annotated[float, typer.Option(help="Share of the hardest of the pairs that tell judges apart, to leave out.")]
_KeepNoise = Annotated[bool, typer.Option("--keep-noise", help="Keep pairs that people found to be noise.")]
_Drop = Annotated[
    list[str] | None,
    typer.Option(
        help="Also leave out pairs that people found ambiguous, or are evenly split about: ambiguous. Noise leaves "
        f"anyway; {SEVERAL}.",
        show_default=False,
    ),
]
_Failures = Annotated[
    str,
    typer.Option(help="Unparsed and refused answers: wrong, or missing as failed calls are."),
]
_GROUPS = ("domain", "failure_type")
_By = Annotated[
    list[str] | None,
    typer.Option(help=f"Columns to count pairs by; {SEVERAL}.", show_default=",".join(_GROUPS)),
]


def curate(  # noqa: PLR0917 - typer passes every option by name
    folder: _Folder,
    mode: _Mode = None,
    cut: _Cut = 0.05,
    failures: _Failures = "wrong",
    by: _By = None,
    drop: _Drop = None,
    *,
    cut_ties: CutTies = "keep",
    keep_noise: _KeepNoise = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.benchmark_curate/1).")] = False,
) -> None:
    """Leave out noise, unanimous and hardest pairs and rank again by the rest: curated.jsonl. Nothing is asked."""
    from judgeharness_integrations.cli.benchmark import _curate  # noqa: PLC0415 - keeps --help fast

    wishes = _curate.Wishes(
        mode=mode,
        cut=cut,
        cut_ties=cut_ties,
        failures=failures,
        keep_noise=keep_noise,
        drop=drop or (),
        by=_GROUPS if by is None else by,
        as_json=as_json,
    )
    _curate.curate_benchmark(folder, wishes)
