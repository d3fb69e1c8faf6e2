"""`judgeharness benchmark generate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli.benchmark._models import Concurrency, MaxCalls, MaxCost, Models

__all__ = ["generate"]

_Docs = Annotated[
    list[Path], typer.Argument(help="PDF, Markdown, text or JSONL files, or folders of them.", show_default=False)
]
_Generator = Annotated[
    str,
    typer.Option(help="Writes: provider:model, or file.py:function of yours.", show_default=False),
]
_Out = Annotated[Path, typer.Option(help="The benchmark's folder; one of its own for each generator.")]
_Verifier = Annotated[
    str | None,
    typer.Option(
        help="Checks plans and conversations; another model than the generator is better.",
        show_default="none: pairs stay unverified",
    ),
]
_N = Annotated[int, typer.Option("--n", min=1, help="Pairs to plan; more of them later leave these as they are.")]
_Seed = Annotated[int, typer.Option(help="Of what is drawn: failure type, behaviour, rounds, side, documents.")]
_Rounds = Annotated[str, typer.Option(help="Rounds of a conversation: from-to, or one number.")]
_PerPair = Annotated[int, typer.Option(min=1, help="Documents a pair draws on.")]
_Taxonomy = Annotated[
    Path | None,
    typer.Option(help="Failure types and behaviours of yours, as YAML.", show_default="the seven and seven of ours"),
]
_Domain = Annotated[
    str | None, typer.Option(help="Domain of all documents.", show_default="each document's, else its folder")
]
_Weights = Annotated[
    Path | None,
    typer.Option(help="YAML: failure type, behaviour or document -> weight, 0: never.", show_default="all alike"),
]
_MinGrounded = Annotated[
    float | None,
    typer.Option(
        min=0, max=1, help="Share of a turn's claims that must be grounded.", show_default="the folder's, else 1.0"
    ),
]
_Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before the first call; without a terminal nothing is asked.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON; plan and progress go to stderr.")]


def generate(
    docs: _Docs,
    *,
    generator: _Generator,
    out: _Out,
    verifier: _Verifier = None,
    n: _N = 400,
    seed: _Seed = 0,
    rounds: _Rounds = "3-7",
    documents_per_pair: _PerPair = 1,
    taxonomy: _Taxonomy = None,
    domain: _Domain = None,
    weights: _Weights = None,
    min_grounded: _MinGrounded = None,
    models: Models = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    max_concurrency: Concurrency = 8,
    yes: _Yes = False,
    as_json: _Json = False,
) -> None:
    """Write pairs of conversations on your documents, one of each with a single flaw in one turn, and verify them.

    The plan and its calls are printed first. The same command goes on with what was cut off, and with a higher --n it
    adds pairs; no answer is asked for twice. The same --seed and documents with another --generator and --out make the
    parallel set on which self-preference shows.
    """
    from judgeharness_integrations.cli.benchmark._generate import GenerateRequest, generate_pairs  # noqa: PLC0415
    from judgeharness_integrations.cli.benchmark._models import Spending  # noqa: PLC0415

    request = GenerateRequest(
        docs=docs,
        generator=generator,
        verifier=verifier,
        out=out,
        n=n,
        seed=seed,
        rounds=rounds,
        documents_per_pair=documents_per_pair,
        taxonomy=taxonomy,
        domain=domain,
        weights=weights,
        min_grounded=min_grounded,
        models=models,
        spending=Spending(max_calls=max_calls, max_cost=max_cost),
        max_concurrency=max_concurrency,
        yes=yes,
        as_json=as_json,
    )
    raise typer.Exit(generate_pairs(request))
