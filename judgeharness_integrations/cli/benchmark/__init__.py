"""`judgeharness benchmark`: a multi-turn benchmark for judges from your own documents."""

from __future__ import annotations

import typer

from .._command import LazyGroup, add_lazily

benchmark = typer.Typer(
    cls=LazyGroup,
    help="Make a benchmark for judges from your documents, judge it, rank the judges, curate the pairs.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
add_lazily(
    benchmark,
    "judgeharness_integrations.cli.benchmark",
    {
        "generate": ("options", "Write pairs of conversations on your documents."),
        "verify": ("options", "Check pairs, layer by layer."),
        "judge": ("options", "Ask judges about the pairs."),
        "rank": ("options", "A leaderboard of the judges."),
        "curate": ("options", "Leave out flagged, unanimous and hardest pairs."),
        "show": ("options", "One pair: every judge's verdict, turn and type."),
        "stats": ("options", "Cascade tables: what became of the pairs."),
        "sample": ("options", "A stratified sample of the pairs."),
        "export": ("options", "Difficulty bands, audited clean pairs held out."),
        "convert": ("options", "A benchmark from the public release's format."),
        "discover": ("options", "Failure types and behaviours the taxonomy lacks."),
    },
)
