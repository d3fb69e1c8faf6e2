"""`judgeharness compare`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["compare"]

_Files = Annotated[Path | None, typer.Option(help="Write a page of its own to this file.", show_default=False)]


class _Measure(StrEnum):
    auto = "auto"
    rate = "rate"
    gold = "gold"


class _FailOn(StrEnum):
    worse = "worse"
    changed = "changed"


def compare(  # noqa: PLR0917 - typer passes every option by name
    run_a: Annotated[
        Path, typer.Argument(help="The earlier run's folder, or a verdict log with --rule.", show_default=False)
    ],
    run_b: Annotated[Path, typer.Argument(help="The later one; may be the same log.", show_default=False)],
    rule: Annotated[
        str | None, typer.Option(help="How to fold logs, as supermajority(2/3); runs have theirs.", show_default=False)
    ] = None,
    judge: Annotated[
        list[str] | None, typer.Option(help="Only this judge; may be given several times.", show_default=False)
    ] = None,
    criterion: Annotated[
        list[str] | None, typer.Option(help="Only this criterion; may be given several times.", show_default=False)
    ] = None,
    name_a: Annotated[
        str | None, typer.Option("--run-a", help="Which run of RUN_A, when a log holds several.", show_default=False)
    ] = None,
    name_b: Annotated[str | None, typer.Option("--run-b", help="Which run of RUN_B.", show_default=False)] = None,
    judge_a: Annotated[str | None, typer.Option(help="Compare this judge of RUN_A ...", show_default=False)] = None,
    judge_b: Annotated[
        str | None, typer.Option(help="... with this judge of RUN_B, or of the same log.", show_default=False)
    ] = None,
    measure: Annotated[
        _Measure,
        typer.Option(help="What is tested: decisions against gold labels, or rates and means without them."),
    ] = _Measure.auto,
    detect: Annotated[float, typer.Option(help="How many cases would find a change of this size?")] = 0.05,
    alpha: Annotated[float, typer.Option(help="Level of the whole report: false alarms.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Of the permutations.", min=0)] = 0,
    permutations: Annotated[
        int | None, typer.Option(help="How many.", show_default="2,000 a criterion, at most 10,000", min=1)
    ] = None,
    min_valid: Annotated[
        int | None, typer.Option(help="Valid samples a verdict needs (logs).", show_default="half of a case's rows")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="How far a score moves without flipping (logs).")] = 1.0,
    fail_on: Annotated[
        _FailOn | None, typer.Option(help="Exit with 1 when anything is worse, or has changed.", show_default=False)
    ] = None,
    html: _Files = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write Markdown to this file; - for standard output.", show_default=False)
    ] = None,
    *,
    labels: Annotated[bool, typer.Option("--labels", help="Read every verdict of a log as a label.")] = False,
    every: Annotated[bool, typer.Option("--all", help="List every flipped case, and all details.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.comparison/1).")] = False,
) -> None:
    """Compare two runs case by case: what changed, and is it more than the judge's own noise? Nothing is asked."""
    from judgeharness_integrations.cli._compare import CompareRequest, compare_runs  # noqa: PLC0415 - fast --help

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
