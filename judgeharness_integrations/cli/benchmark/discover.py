"""`judgeharness benchmark discover`: its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import JsonResult
from judgeharness_integrations.cli.benchmark._models import Concurrency, Models, Spending


@dataclass(frozen=True, kw_only=True)
class DiscoverRequest:
    """Find failure types or behaviours in conversations of yours that the taxonomy lacks.

    A model says of each transcript which present type covers it, and proposes new ones for those that none covers.
    Each proposal stands in proposals.yaml beside the type it is most like. You decide: keep, merge or drop, on a
    terminal one by one, or in the file. With --decided the kept ones become a taxonomy for generate --taxonomy. The
    same command goes on where it was cut off.
    """

    transcripts: Annotated[
        tuple[Path, ...],
        typer.Argument(
            help="Conversations: JSONL (id, and text or messages), .txt and .md files, or folders of them.",
            show_default=False,
        ),
    ] = ()
    model: Annotated[
        str | None, typer.Option(help="Reads: provider:model, or file.py:function of yours.", show_default=False)
    ] = None
    kind: Annotated[Literal["failure_types", "behaviours"], typer.Option("--of", help="What is looked for.")] = (
        "failure_types"
    )
    taxonomy: Annotated[
        Path | None, typer.Option(help="The present types, as YAML.", show_default="the seven and seven of ours")
    ] = None
    out: Annotated[Path | None, typer.Option(help="Folder for answers and proposals.yaml.", show_default=False)] = None
    decided: Annotated[
        Path | None,
        typer.Option(
            help="A proposals.yaml with decisions, to be made a taxonomy; nothing is asked.", show_default=False
        ),
    ] = None
    taxonomy_out: Annotated[
        Path | None, typer.Option(help="The taxonomy to write (with --decided).", show_default=False)
    ] = None
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over --taxonomy-out.")] = False
    models: Models = None
    spending: Spending = field(default_factory=Spending)
    max_concurrency: Concurrency = 8
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing: neither before the first call nor for decisions.")
    ] = False
    as_json: JsonResult = False


discover = command(DiscoverRequest, "judgeharness_integrations.cli.benchmark._discover:discover_types")
