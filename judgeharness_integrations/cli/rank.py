"""`judgeharness rank`: its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, TypeAlias

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import SEVERAL, CutTies, Labels

_NAMES = "may be given several times"

Method: TypeAlias = Annotated[str, typer.Option(help="bradley-terry, conditional or eip.")]
JudgesInfo: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="What is known of judges, as CSV, JSON or YAML: judge, provider, family, open, input_price, output_price "
        "(money per million tokens).",
        show_default=False,
    ),
]


@dataclass(frozen=True, kw_only=True)
class RankOutput:
    """What becomes of a ranking.

    Raises:
        UsageError: `out` is a file, or `draws` cannot be drawn.
        NotInstalledError: pictures are wanted and matplotlib is missing.

    """

    draws: Annotated[
        int, typer.Option(help="Samples of the matches, for each share of them, to see how stable ranks are.")
    ] = 50
    seed: Annotated[int, typer.Option(help="Of the samples of matches.")] = 0
    out: Annotated[
        Path | None, typer.Option(help="A folder for tables, and, with [report], pictures.", show_default=False)
    ] = None
    whole: Annotated[bool, typer.Option("--all", help="List every judge, also of more than 50.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.rank/1).")] = False

    def __post_init__(self) -> None:
        """Refuse what would fail after everything was computed."""
        if self.draws < 1:
            raise UsageError(f"--draws must be at least 1, not {self.draws}.")
        if self.seed < 0:
            raise UsageError(f"--seed must be at least 0, not {self.seed}.")
        if self.out is not None:
            _check_folder(self.out)


def _check_folder(folder: Path) -> None:
    """Make the folder and a file in it, which is gone at once."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {str(folder)!r:.200} is a file: name a folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise UsageError(f"--out {str(folder)!r:.200} cannot be written to ({why}): name another folder.") from error


@dataclass(frozen=True, kw_only=True)
class RankOptions:
    """Rank the judges of a log with gold labels: which should I use? Nothing is asked."""

    log: Annotated[
        Path,
        typer.Argument(
            help="A verdict log with gold: .sqlite, .parquet, .csv or .jsonl (.gz), or the folder of a run.",
            show_default=False,
        ),
    ]
    method: Method = "bradley-terry"
    rule: Annotated[
        str | None,
        typer.Option(
            help="What is right: one_order, both_orders, or the decision of a rule, as net_preference or "
            "module:function.",
            show_default="both_orders where the log shows both, else one_order",
        ),
    ] = None
    criteria: Annotated[
        tuple[str, ...],
        typer.Option(
            "--criterion",
            help=f"Right about this, strictly; {_NAMES}.",
            show_default="all that have gold, jointly",
        ),
    ] = ()
    by: Annotated[
        tuple[str, ...],
        typer.Option(
            help=f"A column of pairs (subset, domain): also rank in each group; {SEVERAL}: in each group of them "
            "together.",
            show_default=False,
        ),
    ] = ()
    judges_info: JudgesInfo = None
    failures: Annotated[str, typer.Option(help="What a failed answer is: wrong, or missing as if never asked.")] = (
        "wrong"
    )
    ties: Annotated[
        str | None,
        typer.Option(
            help="What a tie, or no decision, earns where gold names a side: wrong or half.",
            show_default="half for verdicts from scores, else wrong",
        ),
    ] = None
    cut: Annotated[float, typer.Option(help="Share of the hardest pairs to leave out, as 0.05.")] = 0.0
    cut_ties: CutTies = "keep"
    flagged: Annotated[
        str | None, typer.Option(help="A column that marks pairs people found wanting: left out.", show_default=False)
    ] = None
    audit: Annotated[
        str | None,
        typer.Option(help="A column of audit labels: are they among the hardest pairs?", show_default="--flagged"),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            help="The column of what pairs come from, for the errors.", show_default="cluster, else each pair"
        ),
    ] = None
    judges: Annotated[
        tuple[str, ...], typer.Option("--judge", help=f"Only this judge; {_NAMES}.", show_default=False)
    ] = ()
    run: Annotated[str | None, typer.Option(help="Only this run of the log.", show_default="all")] = None
    labels: Labels = False
    pointwise: Annotated[
        Path | None,
        typer.Option(help="The same judges' scores of single answers (columns pair, side).", show_default=False),
    ] = None
    cases: Annotated[
        Path | None,
        typer.Option(
            help="The cases with their texts: a judged system that never varies is named.", show_default=False
        ),
    ] = None
    against: Annotated[
        Path | None,
        typer.Option(help="A log of the same judges on other pairs: does the order hold there?", show_default=False),
    ] = None
    alpha: Annotated[float, typer.Option(help="EIP: damping.")] = 0.85
    tolerance: Annotated[float, typer.Option(help="EIP: change at which to stop.")] = 1e-10
    score_range: Annotated[str, typer.Option(help="EIP: the scores' range.", metavar="LOW:HIGH")] = "0:1"
    all_equal: Annotated[float, typer.Option(help="EIP: score of everybody where all are equal.")] = 0.5
    output: RankOutput = field(default_factory=RankOutput)


rank = command(RankOptions, "judgeharness_integrations.cli._rank:rank_log")
