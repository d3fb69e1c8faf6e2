"""`judgeharness compare`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._gate_options import Scale, ends_of
from judgeharness_integrations.cli._shared_options import OnlyCriteria, OnlyJudges


@dataclass(frozen=True, kw_only=True)
class CompareRequest:
    """Compare two runs case by case: what changed, and is it more than the judge's own noise? Nothing is asked."""

    run_a: Annotated[
        Path, typer.Argument(help="The earlier run's folder, or a verdict log with --rule.", show_default=False)
    ]
    run_b: Annotated[Path, typer.Argument(help="The later one; may be the same log.", show_default=False)]
    rule: Annotated[
        str | None, typer.Option(help="How to fold logs, as supermajority(2/3); runs have theirs.", show_default=False)
    ] = None
    judges: OnlyJudges = ()
    criteria: OnlyCriteria = ()
    name_a: Annotated[
        str | None, typer.Option("--run-a", help="Which run of RUN_A, when a log holds several.", show_default=False)
    ] = None
    name_b: Annotated[str | None, typer.Option("--run-b", help="Which run of RUN_B.", show_default=False)] = None
    judge_a: Annotated[str | None, typer.Option(help="Compare this judge of RUN_A ...", show_default=False)] = None
    judge_b: Annotated[
        str | None, typer.Option(help="... with this judge of RUN_B, or of the same log.", show_default=False)
    ] = None
    measure: Annotated[
        Literal["auto", "rate", "gold"],
        typer.Option(help="What is tested: decisions against gold labels, or rates and means without them."),
    ] = "auto"
    detect: Annotated[float, typer.Option(help="How many cases would find a change of this size?")] = 0.05
    alpha: Annotated[float, typer.Option(help="Level of the whole report: false alarms.")] = 0.05
    seed: Annotated[int, typer.Option(help="Of the permutations.", min=0)] = 0
    permutations: Annotated[
        int | None, typer.Option(help="How many.", show_default="2,000 a criterion, at most 10,000", min=1)
    ] = None
    sequential: Annotated[
        bool,
        typer.Option("--sequential", help="Level and intervals hold however often one looks while cases are added."),
    ] = False
    scale: Scale = None
    min_valid: Annotated[
        int | None, typer.Option(help="Valid samples a verdict needs (logs).", show_default="half of a case's rows")
    ] = None
    tolerance: Annotated[float, typer.Option(help="How far a score moves without flipping (logs).")] = 1.0
    fail_on: Annotated[
        Literal["worse", "changed"] | None,
        typer.Option(help="Exit with 1 when anything is worse, or has changed.", show_default=False),
    ] = None
    html: Annotated[Path | None, typer.Option(help="Write a page of its own to this file.", show_default=False)] = None
    markdown: Annotated[
        Path | None, typer.Option(help="Write Markdown to this file; - for standard output.", show_default=False)
    ] = None
    labels: Annotated[bool, typer.Option("--labels", help="Read every verdict of a log as a label.")] = False
    every: Annotated[bool, typer.Option("--all", help="List every flipped case, and all details.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.comparison/1).")] = False

    @property
    def sources(self) -> tuple[Path, Path]:
        """What is compared: the earlier one first, as in every pair below."""
        return self.run_a, self.run_b

    @property
    def runs(self) -> tuple[str | None, str | None]:
        """Which runs of the two."""
        return self.name_a, self.name_b

    @property
    def judges_paired(self) -> tuple[str | None, str | None]:
        """Which judge of either is compared with which."""
        return self.judge_a, self.judge_b

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of scores.

        Raises:
            UsageError: they are no two numbers, or count for nothing.

        """
        if self.scale is not None and not self.sequential:
            raise UsageError("--scale counts for a sequential comparison alone: add --sequential.")
        return ends_of(self.scale)


compare = command(CompareRequest, "judgeharness_integrations.cli._compare:compare_runs")
