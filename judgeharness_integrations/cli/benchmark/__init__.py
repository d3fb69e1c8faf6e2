"""`judgeharness benchmark`: a multi-turn benchmark for judges from your own documents."""

from __future__ import annotations

import typer

from judgeharness_integrations.cli._command import LazyGroup, add_lazily

__all__ = ["app"]

app = typer.Typer(
    cls=LazyGroup,
    help="Make a benchmark for judges from your documents, judge it, rank the judges, curate the pairs.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
add_lazily(
    app,
    "judgeharness_integrations.cli.benchmark",
    {
        "generate": "Write pairs of conversations on your documents.",
        "verify": "Check pairs, layer by layer.",
        "judge": "Ask judges about the pairs.",
        "rank": "A leaderboard of the judges.",
        "curate": "Leave out flagged, unanimous and hardest pairs.",
        "show": "One pair: every judge's verdict, turn and type.",
        "stats": "Cascade tables: what became of the pairs.",
        "sample": "A stratified sample of the pairs.",
        "export": "Difficulty bands, audited clean pairs held out.",
        "convert": "A benchmark from the public release's format.",
        "discover": "Failure types and behaviours the taxonomy lacks.",
    },
)
