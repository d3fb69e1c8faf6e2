"""`judgeharness benchmark convert`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import ForTaxonomy

__all__ = ["ConvertRequest", "convert"]


@dataclass(frozen=True, kw_only=True)
class ConvertRequest:
    """Make a benchmark of pairs in the public release's field names. They are unverified: nothing checked them.

    Several files, as the bands of an export, become one benchmark. A conversation is a list of messages with role and
    content, of rounds with user and assistant, or a text with a speaker before each message.
    """

    files: Annotated[
        tuple[Path, ...],
        typer.Argument(
            metavar="FILE...",
            help="JSON or JSONL with id, domain, convo_a, convo_b, better_is_a, plan {good, bad}, metadata "
            "{user_behavior_type, assistant_behavior_type, n_rounds, bad_round_index, context}.",
            show_default=False,
        ),
    ]
    out: Annotated[Path, typer.Option(help="The benchmark's folder; empty, or new.", show_default=False)]
    generator: Annotated[
        str | None, typer.Option(help="Who wrote the pairs.", show_default="each pair's key generator, else unknown")
    ] = None
    taxonomy: ForTaxonomy = None


convert = command(ConvertRequest, "judgeharness_integrations.cli.benchmark._convert:convert_files")
