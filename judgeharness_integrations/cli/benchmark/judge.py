"""`judgeharness benchmark judge`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli.benchmark._models import Concurrency, MaxCalls, MaxCost, Models

__all__ = ["judge"]


class WhichMode(StrEnum):
    """What a judge is shown: both conversations of a pair, or each by itself."""

    pairwise = "pairwise"
    pointwise = "pointwise"
    both = "both"


class WhichOrders(StrEnum):
    """In which orders the conversations of a pair are shown."""

    both = "both"
    one = "one"


_Folder = Annotated[Path, typer.Argument(help="The benchmark's folder.", show_default=False)]
_Judges = Annotated[
    str,
    typer.Option(help="Who judges: provider:model or file.py:function of yours, commas between.", show_default=False),
]
_Mode = Annotated[WhichMode, typer.Option(help="Both conversations at once, each by itself, or one after the other.")]
_Orders = Annotated[
    WhichOrders, typer.Option(help="Show each pair in both orders, which must agree, or in one (informal).")
]
_Repetitions = Annotated[int, typer.Option(min=1, help="Times each is asked.")]
_Fraction = Annotated[float, typer.Option(help="Share of the pairs each judge is asked about, drawn uniformly.")]
_Sample = Annotated[
    Path | None,
    typer.Option(help="Only the pairs of sample.json, or of a JSONL file as curated.jsonl.", show_default=False),
]
_States = Annotated[str, typer.Option(help="Pairs in these states: accepted, unverified, rejected.")]
_Seed = Annotated[int, typer.Option(help="Of the choice of --fraction.")]
_NoDocuments = Annotated[bool, typer.Option("--no-documents", help="Do not show judges the reference text.")]
_Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before the first call; without a terminal nothing is asked.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON; plan and progress go to stderr.")]


def judge(
    folder: _Folder,
    *,
    judges: _Judges,
    mode: _Mode = WhichMode.pairwise,
    orders: _Orders = WhichOrders.both,
    repetitions: _Repetitions = 1,
    fraction: _Fraction = 1.0,
    sample: _Sample = None,
    states: _States = "accepted",
    seed: _Seed = 0,
    no_documents: _NoDocuments = False,
    models: Models = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    max_concurrency: Concurrency = 16,
    yes: _Yes = False,
    as_json: _Json = False,
) -> None:
    """Ask judges which conversation of each pair is better, in which turn the other one fails, and how.

    The plan and what --fraction and --sample save are printed first. Every answer is a row of the folder's log: the
    same command goes on with what was cut off, asks again what failed, and asks nothing twice.
    """
    from judgeharness_integrations.cli.benchmark._judge import JudgeRequest, judge_pairs  # noqa: PLC0415
    from judgeharness_integrations.cli.benchmark._models import Spending  # noqa: PLC0415

    request = JudgeRequest(
        folder=folder,
        judges=judges,
        mode=mode.value,
        orders="both" if orders is WhichOrders.both else "one",
        repetitions=repetitions,
        fraction=fraction,
        sample=sample,
        states=states,
        seed=seed,
        documents=not no_documents,
        models=models,
        spending=Spending(max_calls=max_calls, max_cost=max_cost),
        max_concurrency=max_concurrency,
        yes=yes,
        as_json=as_json,
    )
    raise typer.Exit(judge_pairs(request))
