"""`judgeharness rank`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._curation_options import SEVERAL, CutTies

__all__ = ["rank"]

_Names = "may be given several times"
_Log = Annotated[
    Path,
    typer.Argument(
        help="A verdict log with gold: .sqlite, .parquet, .csv or .jsonl (.gz), or the folder of a run.",
        show_default=False,
    ),
]
_Rule = Annotated[
    str | None,
    typer.Option(
        help="What is right: one_order, both_orders, or the decision of a rule, as net_preference or module:function.",
        show_default="both_orders where the log shows both, else one_order",
    ),
]
_Criterion = Annotated[
    list[str] | None,
    typer.Option(help=f"Right about this, strictly; {_Names}.", show_default="all that have gold, jointly"),
]
_By = Annotated[
    list[str] | None,
    typer.Option(
        help=f"A column of pairs (subset, domain): also rank in each group; {SEVERAL}: in each group of them together.",
        show_default=False,
    ),
]
_Facts = Annotated[
    Path | None,
    typer.Option(
        help="What is known of judges, as CSV, JSON or YAML: judge, provider, family, open, input_price, output_price "
        "(money per million tokens).",
        show_default=False,
    ),
]
_Failures = Annotated[str, typer.Option(help="What a failed answer is: wrong, or missing as if never asked.")]
_Ties = Annotated[
    str | None,
    typer.Option(
        help="What a tie, or no decision, earns where gold names a side: wrong or half.",
        show_default="half for verdicts from scores, else wrong",
    ),
]
_Cut = Annotated[float, typer.Option(help="Share of the hardest pairs to leave out, as 0.05.")]
_Flagged = Annotated[
    str | None, typer.Option(help="A column that marks pairs people found wanting: left out.", show_default=False)
]
_Audit = Annotated[
    str | None,
    typer.Option(help="A column of audit labels: are they among the hardest pairs?", show_default="--flagged"),
]
_Cluster = Annotated[
    str | None,
    typer.Option(help="The column of what pairs come from, for the errors.", show_default="cluster, else each pair"),
]
_Judge = Annotated[list[str] | None, typer.Option(help=f"Only this judge; {_Names}.", show_default=False)]
_Pointwise = Annotated[
    Path | None,
    typer.Option(help="The same judges' scores of single answers (columns pair, side).", show_default=False),
]
_Against = Annotated[
    Path | None,
    typer.Option(help="A log of the same judges on other pairs: does the order hold there?", show_default=False),
]
_Range = Annotated[str, typer.Option(help="EIP: the scores' range.", metavar="LOW:HIGH")]
_Draws = Annotated[
    int, typer.Option(help="Samples of the matches, for each share of them, to see how stable ranks are.")
]
_Out = Annotated[Path | None, typer.Option(help="A folder for every picture and table.", show_default=False)]


def rank(  # noqa: PLR0917 - typer passes every option by name
    log: _Log,
    method: Annotated[str, typer.Option(help="bradley-terry, conditional or eip.")] = "bradley-terry",
    rule: _Rule = None,
    criterion: _Criterion = None,
    by: _By = None,
    judges_info: _Facts = None,
    failures: _Failures = "wrong",
    ties: _Ties = None,
    cut: _Cut = 0.0,
    cut_ties: CutTies = "keep",
    flagged: _Flagged = None,
    audit: _Audit = None,
    cluster: _Cluster = None,
    judge: _Judge = None,
    run: Annotated[str | None, typer.Option(help="Only this run of the log.", show_default="all")] = None,
    pointwise: _Pointwise = None,
    cases: Annotated[
        Path | None,
        typer.Option(
            help="The cases with their texts: a judged system that never varies is named.", show_default=False
        ),
    ] = None,
    against: _Against = None,
    alpha: Annotated[float, typer.Option(help="EIP: damping.")] = 0.85,
    tolerance: Annotated[float, typer.Option(help="EIP: change at which to stop.")] = 1e-10,
    score_range: _Range = "0:1",
    all_equal: Annotated[float, typer.Option(help="EIP: score of everybody where all are equal.")] = 0.5,
    draws: _Draws = 50,
    seed: Annotated[int, typer.Option(help="Of the samples of matches.")] = 0,
    out: _Out = None,
    *,
    labels: Annotated[bool, typer.Option("--labels", help="Read every verdict as a label, numbers too.")] = False,
    whole: Annotated[bool, typer.Option("--all", help="List every judge, also of more than 50.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.rank/1).")] = False,
) -> None:
    """Rank the judges of a log with gold labels: which should I use? Nothing is asked."""
    from judgeharness_integrations.cli import _rank, _rank_request  # noqa: PLC0415 - keeps --help fast

    request = _rank_request.request_of(
        method=method,
        rule=rule,
        criteria=criterion or (),
        judges=judge or (),
        failures=failures,
        ties=ties,
        by=by or (),
        cluster=cluster,
        flagged=flagged,
        cut=cut,
        cut_ties=cut_ties,
        eip={"alpha": alpha, "tolerance": tolerance, "range": score_range, "all_equal": all_equal},
        facts=judges_info,
    )
    wishes = _rank_request.Wishes(
        run=run,
        labels=labels,
        pointwise=pointwise,
        cases=cases,
        against=against,
        audit=audit,
        draws=draws,
        seed=seed,
        out=out,
        whole=whole,
        as_json=as_json,
    )
    _rank.rank_log(log, request, wishes)
