"""`judgeharness benchmark rank`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._curation_options import SEVERAL, CutTies
from judgeharness_integrations.cli.benchmark._models import Models

__all__ = ["rank"]

_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A benchmark's folder.", show_default=False)]
_Mode = Annotated[
    str | None, typer.Option(help="pairwise or pointwise answers.", show_default="pairwise where there are any")
]
_Method = Annotated[str, typer.Option(help="bradley-terry, conditional or eip.")]
_Criterion = Annotated[
    list[str] | None,
    typer.Option(
        help="Right about this alone: verdict, turn or type; may be given several times.",
        show_default="all three, jointly",
    ),
]
_By = Annotated[
    list[str] | None,
    typer.Option(
        help="Also rank in each group: domain, failure_type, behaviour, n_rounds, document ...; "
        f"{SEVERAL}: in each group of them together.",
        show_default=False,
    ),
]
_Judge = Annotated[
    list[str] | None, typer.Option(help="Only this judge; may be given several times.", show_default=False)
]
_Cut = Annotated[float, typer.Option(help="Share of the hardest pairs to leave out, as 0.05.")]
_Failures = Annotated[
    str,
    typer.Option(help="Unparsed and refused answers: wrong, or missing as failed calls are."),
]
_Cluster = Annotated[
    str | None,
    typer.Option(help="The column of what pairs come from, as document.", show_default="cluster, else each pair"),
]
_Facts = Annotated[
    Path | None,
    typer.Option(
        help="What is known of judges, as CSV, JSON or YAML: judge, provider, family, open, input_price, output_price "
        "(money per million tokens).",
        show_default=False,
    ),
]
_Rule = Annotated[
    str | None,
    typer.Option(
        help="What makes a pair right: one_order (the order as given), both_orders or a rule of aggregation.",
        show_default="of the orders asked, chosen before the samples",
    ),
]
_Sample = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Only the pairs of sample.json, or of a JSONL file as curated.jsonl.", show_default=False
    ),
]
_Against = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The parallel set, of another generator: whose rank depends on who wrote the pairs?",
        show_default=False,
    ),
]
_Out = Annotated[Path | None, typer.Option(help="A folder for every picture and table.", show_default=False)]


def rank(  # noqa: PLR0917 - typer passes every option by name
    folder: _Folder,
    mode: _Mode = None,
    method: _Method = "bradley-terry",
    criterion: _Criterion = None,
    by: _By = None,
    judge: _Judge = None,
    cut: _Cut = 0.0,
    cut_ties: CutTies = "keep",
    failures: _Failures = "wrong",
    cluster: _Cluster = None,
    judges_info: _Facts = None,
    models: Models = None,
    rule: _Rule = None,
    sample: _Sample = None,
    against: _Against = None,
    draws: Annotated[int, typer.Option(help="Samples of the matches, to see how stable ranks are.")] = 50,
    seed: Annotated[int, typer.Option(help="Of the samples of matches.")] = 0,
    out: _Out = None,
    *,
    flagged: Annotated[bool, typer.Option("--flagged", help="Leave out pairs that people found to be noise.")] = False,
    whole: Annotated[bool, typer.Option("--all", help="List every judge, also of more than 50.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.rank/1).")] = False,
) -> None:
    """Rank the judges of a benchmark by who was right about verdict, turn and type at once. Nothing is asked."""
    from judgeharness_integrations.cli import _rank_request  # noqa: PLC0415 - keeps --help fast
    from judgeharness_integrations.cli.benchmark import _rank  # noqa: PLC0415

    request = _rank_request.request_of(
        method=method,
        rule=rule,
        criteria=criterion or (),
        judges=judge or (),
        failures=failures,
        ties=None,
        by=by or (),
        cluster=cluster,
        flagged=None,
        cut=cut,
        cut_ties=cut_ties,
        eip=_rank_request.EIP_DEFAULTS,
        facts=judges_info,
    )
    wishes = _rank_request.Wishes(against=against, draws=draws, seed=seed, out=out, whole=whole, as_json=as_json)
    _rank.rank_benchmark(folder, request, wishes, mode=mode, flagged=flagged, models=models, sample=sample)
