"""`judgeharness benchmark stats`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import SEVERAL, AnswerMode, BenchmarkDir, CutTies
from judgeharness_integrations.cli.benchmark._models import Models

_GROUPS = ("failure_type", "behaviour", "domain", "n_rounds")


@dataclass(frozen=True, kw_only=True)
class StatsRequest:
    """Say what became of the pairs, from the plan to those that are kept, and what each step cost. Nothing is asked."""

    folder: BenchmarkDir
    by: Annotated[
        tuple[str, ...],
        typer.Option(
            help=f"Columns to count pairs by: domain, failure_type, behaviour, n_rounds; {SEVERAL}.",
            show_default=",".join(_GROUPS),
        ),
    ] = _GROUPS
    mode: AnswerMode = None
    cut: Annotated[
        float, typer.Option(help="Share of the hardest of the pairs that tell judges apart, as curate cuts.")
    ] = 0.05
    models: Models = None
    cut_ties: CutTies = "keep"
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.benchmark_stats/1).")] = False


stats = command(StatsRequest, "judgeharness_integrations.cli.benchmark._stats:stats_of_benchmark")
