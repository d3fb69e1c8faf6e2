"""`judgeharness benchmark curate`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import SEVERAL, AnswerMode, BenchmarkDir, CutTies, Unparsed

_GROUPS = ("domain", "failure_type")


@dataclass(frozen=True, kw_only=True)
class CurateRequest:
    """Leave out noise, unanimous and hardest pairs and rank again by the rest: curated.jsonl. Nothing is asked."""

    folder: BenchmarkDir
    mode: AnswerMode = None
    cut: Annotated[
        float, typer.Option(help="Share of the hardest of the pairs that tell judges apart, to leave out.")
    ] = 0.05
    failures: Unparsed = "wrong"
    by: Annotated[
        tuple[str, ...], typer.Option(help=f"Columns to count pairs by; {SEVERAL}.", show_default=",".join(_GROUPS))
    ] = _GROUPS
    drop: Annotated[
        tuple[str, ...],
        typer.Option(
            help="Also leave out pairs that people found ambiguous, or are evenly split about: ambiguous. Noise leaves "
            f"anyway; {SEVERAL}.",
            show_default=False,
        ),
    ] = ()
    cut_ties: CutTies = "keep"
    keep_noise: Annotated[bool, typer.Option("--keep-noise", help="Keep pairs that people found to be noise.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.benchmark_curate/1).")] = False


curate = command(CurateRequest, "judgeharness_integrations.cli.benchmark._curate:curate_benchmark")
