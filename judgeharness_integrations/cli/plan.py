"""`judgeharness plan`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import SEVERAL


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """How many cases, samples and labels it takes for what report and compare print, and its cost. Nothing is asked."""

    config: Annotated[
        Path | None, typer.Argument(help="A configuration: its cases, perturbations, repetitions.", show_default=False)
    ] = None
    pilot: Annotated[
        Path | None,
        typer.Option(help="A log, or a run's folder, with repetitions or perturbations.", show_default=False),
    ] = None
    judge: Annotated[
        str | None,
        typer.Option(help="Which judge of the pilot; a pattern (GPT-4/*): several, its prompts.", show_default=False),
    ] = None
    criterion: Annotated[str | None, typer.Option(help="Which criterion of the pilot.", show_default=False)] = None
    variance: Annotated[
        str | None,
        typer.Option(help="Instead of a pilot: variance between CASES,PERTURBATIONS,REPETITIONS.", show_default=False),
    ] = None
    width: Annotated[
        float | None, typer.Option(help="Wanted width of the 95 % interval that report prints.", show_default="0.1")
    ] = None
    difference: Annotated[
        float | None,
        typer.Option(help="Or: difference between two systems that compare is to find.", show_default=False),
    ] = None
    rule: Annotated[
        str | None,
        typer.Option(
            help="Rule of the decisions.", show_default="the configuration's, the pilot's, majority or median"
        ),
    ] = None
    assurance: Annotated[float, typer.Option(help="Share of studies that are to reach the goal.")] = 0.8
    correlation: Annotated[
        float, typer.Option(help="Assumed correlation of two systems over cases; 0 if each was asked once.")
    ] = 0.5
    rate: Annotated[float, typer.Option(help="Anticipated agreement, precision or sensitivity, for the labels.")] = 0.8
    sensitivity: Annotated[
        float | None, typer.Option(help="Of the judge, for a corrected rate.", show_default=False)
    ] = None
    specificity: Annotated[
        float | None, typer.Option(help="Of the judge, for a corrected rate.", show_default=False)
    ] = None
    cases: Annotated[int | None, typer.Option(help="Cases at hand.", show_default=False)] = None
    perturbations: Annotated[int | None, typer.Option(help="How many; several are tried else.", show_default=False)] = (
        None
    )
    budget: Annotated[int | None, typer.Option(help="Calls that may be made.", show_default=False)] = None
    price: Annotated[float | None, typer.Option(help="Price of a call.", show_default=False)] = None
    labels: Annotated[
        Literal["none", "executable", "human"] | None,
        typer.Option(help="Where labels could come from.", show_default=False),
    ] = None
    certify: Annotated[
        float | None,
        typer.Option(
            help="Or: what a certificate of this agreement takes, by a labelled pilot; a width if it is named.",
            show_default=False,
        ),
    ] = None
    delta: Annotated[float, typer.Option(help="1 - confidence of the certificate.")] = 0.1
    candidates: Annotated[
        int | None,
        typer.Option(help="Judges, rules, ... of which one is certified on the same labels.", show_default="1"),
    ] = None
    by: Annotated[
        tuple[str, ...],
        typer.Option(help=f"Of --certify: a column of strata, each certified; {SEVERAL}.", show_default=False),
    ] = ()
    expected: Annotated[
        bool,
        typer.Option(
            "--expected",
            help="Take a pilot for certain: .22 to .66 of studies then meet a width; without a pilot about half.",
        ),
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.plan/1).")] = False

    @property
    def assured(self) -> float | None:
        """The share of studies that are to reach the goal; None where the pilot is taken for certain."""
        return None if self.expected else self.assurance

    @property
    def names_goal(self) -> bool:
        """Whether a width, a difference or a corrected rate is asked for by name; a width of .1 is planned for else."""
        return (self.width, self.difference, self.sensitivity) != (None, None, None)


plan = command(PlanRequest, "judgeharness_integrations.cli._plan:print_plan")
