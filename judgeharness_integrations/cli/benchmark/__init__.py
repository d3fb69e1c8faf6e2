"""`judgeharness benchmark`: a multi-turn benchmark for judges from your own documents."""

from __future__ import annotations

import typer

from judgeharness_integrations.cli.benchmark.convert import convert
from judgeharness_integrations.cli.benchmark.curate import curate
from judgeharness_integrations.cli.benchmark.discover import discover
from judgeharness_integrations.cli.benchmark.export import export
from judgeharness_integrations.cli.benchmark.generate import generate
from judgeharness_integrations.cli.benchmark.judge import judge
from judgeharness_integrations.cli.benchmark.rank import rank
from judgeharness_integrations.cli.benchmark.sample import sample
from judgeharness_integrations.cli.benchmark.show import show
from judgeharness_integrations.cli.benchmark.stats import stats
from judgeharness_integrations.cli.benchmark.verify import verify

__all__ = ["app"]

app = typer.Typer(
    help="Make a benchmark for judges from your documents, judge it, rank the judges, curate the pairs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("generate", short_help="Write pairs of conversations on your documents.")(generate)
app.command("verify", short_help="Check pairs, layer by layer.")(verify)
app.command("judge", short_help="Ask judges about the pairs.")(judge)
app.command("rank", short_help="A leaderboard of the judges.")(rank)
app.command("curate", short_help="Leave out flagged, unanimous and hardest pairs.")(curate)
app.command("show", short_help="One pair: every judge's verdict, turn and type.")(show)
app.command("stats", short_help="Cascade tables: what became of the pairs.")(stats)
app.command("sample", short_help="A stratified sample of the pairs.")(sample)
app.command("export", short_help="Difficulty bands, audited clean pairs held out.")(export)
app.command("convert", short_help="A benchmark from the public release's format.")(convert)
app.command("discover", short_help="Failure types and behaviours the taxonomy lacks.")(discover)
