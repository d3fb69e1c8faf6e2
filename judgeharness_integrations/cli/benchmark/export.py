"""`judgeharness benchmark export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["export"]

_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A benchmark's folder.", show_default=False)]
_Out = Annotated[Path, typer.Option(help="A folder for the files; empty, or with --overwrite.", show_default=False)]
_Format = Annotated[
    str,
    typer.Option("--format", help="native lines of pairs, or rankjudge: the field names of the public release."),
]
_Bands = Annotated[int, typer.Option(help="Bands of difficulty, about equally large.")]
_Mode = Annotated[
    str | None, typer.Option(help="pairwise or pointwise answers.", show_default="pairwise where there are any")
]
_Failures = Annotated[str, typer.Option(help="Unparsed and refused answers: wrong, or missing as failed calls are.")]


def export(  # noqa: PLR0917 - typer passes every option by name
    folder: _Folder,
    out: _Out,
    format_: _Format = "native",
    bands: _Bands = 3,
    mode: _Mode = None,
    failures: _Failures = "wrong",
    *,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over an earlier export.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.benchmark_export/1).")] = False,
) -> None:
    """Write the pairs by difficulty, those that people found to be clean held out. Training is out of scope."""
    from judgeharness_integrations.cli.benchmark import _export  # noqa: PLC0415 - keeps --help fast

    wishes = _export.Wishes(
        out=out, format=format_, bands=bands, mode=mode, failures=failures, overwrite=overwrite, as_json=as_json
    )
    _export.export_benchmark(folder, wishes)
