"""`judgeharness benchmark rank`: its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import (
    SEVERAL,
    AnswerMode,
    BenchmarkDir,
    CutTies,
    OnlyJudges,
    Unparsed,
)
from judgeharness_integrations.cli.benchmark._models import Models
from judgeharness_integrations.cli.rank import JudgesInfo, Method, RankOutput


@dataclass(frozen=True, kw_only=True)
class BenchmarkRankOptions:
    """Rank the judges of a benchmark by who was right about verdict, turn and type at once. Nothing is asked."""

    folder: BenchmarkDir
    mode: AnswerMode = None
    method: Method = "bradley-terry"
    criteria: Annotated[
        tuple[str, ...],
        typer.Option(
            "--criterion",
            help="Right about this alone: verdict, turn or type; may be given several times.",
            show_default="all three, jointly",
        ),
    ] = ()
    by: Annotated[
        tuple[str, ...],
        typer.Option(
            help="Also rank in each group: domain, failure_type, behaviour, n_rounds, document ...; "
            f"{SEVERAL}: in each group of them together.",
            show_default=False,
        ),
    ] = ()
    judges: OnlyJudges = ()
    cut: Annotated[float, typer.Option(help="Share of the hardest pairs to leave out, as 0.05.")] = 0.0
    cut_ties: CutTies = "keep"
    flagged: Annotated[bool, typer.Option("--flagged", help="Leave out pairs that people found to be noise.")] = False
    failures: Unparsed = "wrong"
    cluster: Annotated[
        str | None,
        typer.Option(help="The column of what pairs come from, as document.", show_default="cluster, else each pair"),
    ] = None
    judges_info: JudgesInfo = None
    models: Models = None
    rule: Annotated[
        str | None,
        typer.Option(
            help="What makes a pair right: one_order (the order as given), both_orders or a rule of aggregation.",
            show_default="of the orders asked, chosen before the samples",
        ),
    ] = None
    sample: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Only the pairs of sample.json, or of a JSONL file as curated.jsonl.",
            show_default=False,
        ),
    ] = None
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The parallel set, of another generator: whose rank depends on who wrote the pairs?",
            show_default=False,
        ),
    ] = None
    output: RankOutput = field(default_factory=RankOutput)


rank = command(BenchmarkRankOptions, "judgeharness_integrations.cli.benchmark._rank:rank_benchmark")
