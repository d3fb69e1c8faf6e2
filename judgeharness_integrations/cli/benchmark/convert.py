"""`judgeharness benchmark convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["convert"]

_Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="JSON or JSONL with id, domain, convo_a, convo_b, better_is_a, plan {good, bad}, metadata "
        "{user_behavior_type, assistant_behavior_type, n_rounds, bad_round_index, context}.",
        show_default=False,
    ),
]
_Out = Annotated[Path, typer.Option(help="The benchmark's folder; empty, or new.", show_default=False)]
_Generator = Annotated[
    str | None, typer.Option(help="Who wrote the pairs.", show_default="each pair's key generator, else unknown")
]
_Taxonomy = Annotated[
    Path | None,
    typer.Option(help="Failure types and behaviours of yours, as YAML.", show_default="the seven and seven of ours"),
]


def convert(files: _Files, out: _Out, generator: _Generator = None, taxonomy: _Taxonomy = None) -> None:
    """Make a benchmark of pairs in the public release's field names. They are unverified: nothing checked them.

    Several files, as the bands of an export, become one benchmark. A conversation is a list of messages with role and
    content, of rounds with user and assistant, or a text with a speaker before each message.
    """
    from judgeharness_integrations.cli.benchmark import _convert  # noqa: PLC0415 - keeps --help fast

    _convert.convert_files(files, out, generator=generator, taxonomy=taxonomy)
