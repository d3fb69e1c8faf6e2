"""`judgeharness benchmark generate`: its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import ForTaxonomy, JsonResult, Yes
from judgeharness_integrations.cli.benchmark._models import Concurrency, Models, Spending


@dataclass(frozen=True, kw_only=True)
class GenerateRequest:
    """Write pairs of conversations on your documents, one of each with a single flaw in one turn, and verify them.

    The plan and its calls are printed first. The same command goes on with what was cut off, and with a higher --n it
    adds pairs; no answer is asked for twice. The same --seed and documents with another --generator and --out make the
    parallel set on which self-preference shows.
    """

    docs: Annotated[
        tuple[Path, ...],
        typer.Argument(help="PDF, Markdown, text or JSONL files, or folders of them.", show_default=False),
    ]
    generator: Annotated[
        str, typer.Option(help="Writes: provider:model, or file.py:function of yours.", show_default=False)
    ]
    out: Annotated[Path, typer.Option(help="The benchmark's folder; one of its own for each generator.")]
    verifier: Annotated[
        str | None,
        typer.Option(
            help="Checks plans and conversations; another model than the generator is better.",
            show_default="none: pairs stay unverified",
        ),
    ] = None
    n: Annotated[int, typer.Option("--n", min=1, help="Pairs to plan; more of them later leave these as they are.")] = (
        400
    )
    seed: Annotated[int, typer.Option(help="Of what is drawn: failure type, behaviour, rounds, side, documents.")] = 0
    rounds: Annotated[str, typer.Option(help="Rounds of a conversation: from-to, or one number.")] = "3-7"
    documents_per_pair: Annotated[int, typer.Option(min=1, help="Documents a pair draws on.")] = 1
    taxonomy: ForTaxonomy = None
    domain: Annotated[
        str | None, typer.Option(help="Domain of all documents.", show_default="each document's, else its folder")
    ] = None
    weights: Annotated[
        Path | None,
        typer.Option(help="YAML: failure type, behaviour or document -> weight, 0: never.", show_default="all alike"),
    ] = None
    min_grounded: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Share of a turn's claims that must be grounded.", show_default="the folder's, else 1.0"
        ),
    ] = None
    models: Models = None
    spending: Spending = field(default_factory=Spending)
    max_concurrency: Concurrency = 8
    yes: Yes = False
    as_json: JsonResult = False


generate = command(GenerateRequest, "judgeharness_integrations.cli.benchmark._generate:generate_pairs")
