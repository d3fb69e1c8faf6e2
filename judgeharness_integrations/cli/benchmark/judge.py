"""`judgeharness benchmark judge`: its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import JsonResult, OnlyPairs, PairStates, Yes
from judgeharness_integrations.cli.benchmark._models import Concurrency, Models, Spending


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """Ask judges which conversation of each pair is better, in which turn the other one fails, and how.

    The plan and what --fraction and --sample save are printed first. Every answer is a row of the folder's log: the
    same command goes on with what was cut off, asks again what failed, and asks nothing twice.
    """

    folder: Annotated[Path, typer.Argument(help="The benchmark's folder.", show_default=False)]
    judges: Annotated[
        str,
        typer.Option(
            help="Who judges: provider:model, decisions:provider:model of a decision model, or file.py:function of "
            "yours, commas between.",
            show_default=False,
        ),
    ]
    mode: Annotated[
        Literal["pairwise", "pointwise", "both"],
        typer.Option(help="Both conversations at once, each by itself, or one after the other."),
    ] = "pairwise"
    orders: Annotated[
        Literal["both", "one"],
        typer.Option(help="Show each pair in both orders, which must agree, or in one (informal)."),
    ] = "both"
    repetitions: Annotated[int, typer.Option(min=1, help="Times each is asked.")] = 1
    fraction: Annotated[float, typer.Option(help="Share of the pairs each judge is asked about, drawn uniformly.")] = (
        1.0
    )
    sample: OnlyPairs = None
    states: PairStates = "accepted"
    seed: Annotated[int, typer.Option(help="Of the choice of --fraction.")] = 0
    no_documents: Annotated[bool, typer.Option("--no-documents", help="Do not show judges the reference text.")] = False
    models: Models = None
    spending: Spending = field(default_factory=Spending)
    max_concurrency: Concurrency = 16
    yes: Yes = False
    as_json: JsonResult = False


judge = command(JudgeRequest, "judgeharness_integrations.cli.benchmark._judge:judge_pairs")
