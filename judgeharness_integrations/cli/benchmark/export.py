"""`judgeharness benchmark export`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import AnswerMode, BenchmarkDir, Unparsed


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """Write the pairs by difficulty, those that people found to be clean held out. Training is out of scope."""

    folder: BenchmarkDir
    out: Annotated[Path, typer.Option(help="A folder for the files; empty, or with --overwrite.", show_default=False)]
    format: Annotated[
        str,
        typer.Option("--format", help="native lines of pairs, or rankjudge: the field names of the public release."),
    ] = "native"
    bands: Annotated[int, typer.Option(help="Bands of difficulty, about equally large.")] = 3
    mode: AnswerMode = None
    failures: Unparsed = "wrong"
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over an earlier export.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.benchmark_export/1).")] = False


export = command(ExportRequest, "judgeharness_integrations.cli.benchmark._export:export_benchmark")
