"""`judgeharness compare`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cli._gate_options import Scale, ends_of

__all__ = ["compare"]


class _Measure(StrEnum):
    auto = "auto"
    rate = "rate"
    gold = "gold"


class _FailOn(StrEnum):
    worse = "worse"
    changed = "changed"


_RunA = Annotated[
    Path, typer.Argument(help="The earlier run's folder, or a verdict log with --rule.", show_default=False)
]
_RunB = Annotated[Path, typer.Argument(help="The later one; may be the same log.", show_default=False)]
_Rule = Annotated[
    str | None, typer.Option(help="How to fold logs, as supermajority(2/3); runs have theirs.", show_default=False)
]
_Judge = Annotated[
    list[str] | None, typer.Option(help="Only this judge; may be given several times.", show_default=False)
]
_Criterion = Annotated[
    list[str] | None, typer.Option(help="Only this criterion; may be given several times.", show_default=False)
]
_NameA = Annotated[
    str | None, typer.Option("--run-a", help="Which run of RUN_A, when a log holds several.", show_default=False)
]
_NameB = Annotated[str | None, typer.Option("--run-b", help="Which run of RUN_B.", show_default=False)]
_JudgeA = Annotated[str | None, typer.Option(help="Compare this judge of RUN_A ...", show_default=False)]
_JudgeB = Annotated[
    str | None, typer.Option(help="... with this judge of RUN_B, or of the same log.", show_default=False)
]
_Measured = Annotated[
    _Measure, typer.Option(help="What is tested: decisions against gold labels, or rates and means without them.")
]
_Detect = Annotated[float, typer.Option(help="How many cases would find a change of this size?")]
_Alpha = Annotated[float, typer.Option(help="Level of the whole report: false alarms.")]
_Seed = Annotated[int, typer.Option(help="Of the permutations.", min=0)]
_Permutations = Annotated[
    int | None, typer.Option(help="How many.", show_default="2,000 a criterion, at most 10,000", min=1)
]
_Sequential = Annotated[
    bool, typer.Option("--sequential", help="Level and intervals hold however often one looks while cases are added.")
]
_MinValid = Annotated[
    int | None, typer.Option(help="Valid samples a verdict needs (logs).", show_default="half of a case's rows")
]
_Tolerance = Annotated[float, typer.Option(help="How far a score moves without flipping (logs).")]
_Failing = Annotated[
    _FailOn | None, typer.Option(help="Exit with 1 when anything is worse, or has changed.", show_default=False)
]
_Html = Annotated[Path | None, typer.Option(help="Write a page of its own to this file.", show_default=False)]
_Markdown = Annotated[
    Path | None, typer.Option(help="Write Markdown to this file; - for standard output.", show_default=False)
]
_Labels = Annotated[bool, typer.Option("--labels", help="Read every verdict of a log as a label.")]
_Every = Annotated[bool, typer.Option("--all", help="List every flipped case, and all details.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.comparison/1).")]


def compare(
    run_a: _RunA,
    run_b: _RunB,
    *,
    rule: _Rule = None,
    judge: _Judge = None,
    criterion: _Criterion = None,
    name_a: _NameA = None,
    name_b: _NameB = None,
    judge_a: _JudgeA = None,
    judge_b: _JudgeB = None,
    measure: _Measured = _Measure.auto,
    detect: _Detect = 0.05,
    alpha: _Alpha = 0.05,
    seed: _Seed = 0,
    permutations: _Permutations = None,
    sequential: _Sequential = False,
    scale: Scale = None,
    min_valid: _MinValid = None,
    tolerance: _Tolerance = 1.0,
    fail_on: _Failing = None,
    html: _Html = None,
    markdown: _Markdown = None,
    labels: _Labels = False,
    every: _Every = False,
    as_json: _Json = False,
) -> None:
    """Compare two runs case by case: what changed, and is it more than the judge's own noise? Nothing is asked."""
    from judgeharness_integrations.cli._compare import CompareRequest, compare_runs  # noqa: PLC0415 - fast --help

    if scale is not None and not sequential:
        raise UsageError("--scale counts for a sequential comparison alone: add --sequential.")
    request = CompareRequest(
        sources=(run_a, run_b),
        runs=(name_a, name_b),
        judges_paired=(judge_a, judge_b),
        rule=rule,
        judges=judge or None,
        criteria=criterion or None,
        measure=measure.value,
        detect=detect,
        alpha=alpha,
        seed=seed,
        permutations=permutations,
        sequential=sequential,
        scale=ends_of(scale),
        min_valid=min_valid,
        tolerance=tolerance,
        labels=labels,
        every=every,
        as_json=as_json,
        fail_on=None if fail_on is None else fail_on.value,
        html=html,
        markdown=markdown,
    )
    raise typer.Exit(compare_runs(request))
