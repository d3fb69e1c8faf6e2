"""`judgeharness benchmark discover`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli.benchmark._models import Concurrency, MaxCalls, MaxCost, Models

__all__ = ["discover"]


class _Of(StrEnum):
    failure_types = "failure_types"
    behaviours = "behaviours"


_Transcripts = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Conversations: JSONL (id, and text or messages), .txt and .md files, or folders of them.",
        show_default=False,
    ),
]
_Model = Annotated[
    str | None, typer.Option(help="Reads: provider:model, or file.py:function of yours.", show_default=False)
]
_Kind = Annotated[_Of, typer.Option("--of", help="What is looked for.")]
_Taxonomy = Annotated[
    Path | None, typer.Option(help="The present types, as YAML.", show_default="the seven and seven of ours")
]
_Out = Annotated[Path | None, typer.Option(help="Folder for answers and proposals.yaml.", show_default=False)]
_Decided = Annotated[
    Path | None,
    typer.Option(help="A proposals.yaml with decisions, to be made a taxonomy; nothing is asked.", show_default=False),
]
_TaxonomyOut = Annotated[Path | None, typer.Option(help="The taxonomy to write (with --decided).", show_default=False)]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write over --taxonomy-out.")]
_Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Ask nothing: neither before the first call nor for decisions.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON; plan and progress go to stderr.")]


def discover(
    transcripts: _Transcripts = None,
    *,
    model: _Model = None,
    of: _Kind = _Of.failure_types,
    taxonomy: _Taxonomy = None,
    out: _Out = None,
    decided: _Decided = None,
    taxonomy_out: _TaxonomyOut = None,
    overwrite: _Overwrite = False,
    models: Models = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    max_concurrency: Concurrency = 8,
    yes: _Yes = False,
    as_json: _Json = False,
) -> None:
    """Find failure types or behaviours in conversations of yours that the taxonomy lacks.

    A model says of each transcript which present type covers it, and proposes new ones for those that none covers.
    Each proposal stands in proposals.yaml beside the type it is most like. You decide: keep, merge or drop, on a
    terminal one by one, or in the file. With --decided the kept ones become a taxonomy for generate --taxonomy. The
    same command goes on where it was cut off.
    """
    from judgeharness_integrations.cli.benchmark import _discover  # noqa: PLC0415 - keeps --help fast
    from judgeharness_integrations.cli.benchmark._models import Spending  # noqa: PLC0415

    request = _discover.DiscoverRequest(
        transcripts=tuple(transcripts or ()),
        model=model,
        kind=of.value,
        taxonomy=taxonomy,
        out=out,
        decided=decided,
        taxonomy_out=taxonomy_out,
        overwrite=overwrite,
        models=models,
        spending=Spending(max_calls=max_calls, max_cost=max_cost),
        max_concurrency=max_concurrency,
        yes=yes,
        as_json=as_json,
    )
    raise typer.Exit(_discover.discover_types(request))
