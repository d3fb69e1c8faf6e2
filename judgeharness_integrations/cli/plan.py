"""`judgeharness plan`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Labels", "plan"]


class Labels(StrEnum):
    """Where labels could come from."""

    NONE = "none"
    EXECUTABLE = "executable"
    HUMAN = "human"


_Config = Annotated[
    Path | None, typer.Argument(help="A configuration: its cases, perturbations, repetitions.", show_default=False)
]
_Pilot = Annotated[Path | None, typer.Option(help="A log with repetitions or perturbations.", show_default=False)]
_Judge = Annotated[str | None, typer.Option(help="Which judge of the pilot.", show_default=False)]
_Criterion = Annotated[str | None, typer.Option(help="Which criterion of the pilot.", show_default=False)]
_Variance = Annotated[
    str | None,
    typer.Option(help="Instead of a pilot: variance between CASES,PERTURBATIONS,REPETITIONS.", show_default=False),
]
_Width = Annotated[
    float | None, typer.Option(help="Wanted width of the 95 % interval of the mean.", show_default="0.1")
]
_Difference = Annotated[
    float | None, typer.Option(help="Or: difference between two systems to find.", show_default=False)
]
_Unpaired = Annotated[bool, typer.Option("--unpaired", help="The two systems are judged on different cases.")]
_Correlation = Annotated[float, typer.Option(help="Assumed correlation of two systems over the same cases.")]
_Rate = Annotated[float, typer.Option(help="Anticipated agreement, precision or sensitivity, for the labels.")]
_Sensitivity = Annotated[float | None, typer.Option(help="Of the judge, for a corrected rate.", show_default=False)]
_Specificity = Annotated[float | None, typer.Option(help="Of the judge, for a corrected rate.", show_default=False)]
_Cases = Annotated[int | None, typer.Option(help="Cases at hand.", show_default=False)]
_Perturbations = Annotated[int | None, typer.Option(help="How many; several are tried else.", show_default=False)]
_Budget = Annotated[int | None, typer.Option(help="Calls that may be made.", show_default=False)]
_Price = Annotated[float | None, typer.Option(help="Price of a call.", show_default=False)]
_Labels = Annotated[Labels | None, typer.Option(help="Where labels could come from.", show_default=False)]


def plan(  # noqa: PLR0917 - typer passes every option by name
    config: _Config = None,
    pilot: _Pilot = None,
    judge: _Judge = None,
    criterion: _Criterion = None,
    variance: _Variance = None,
    width: _Width = None,
    difference: _Difference = None,
    correlation: _Correlation = 0.5,
    rate: _Rate = 0.8,
    sensitivity: _Sensitivity = None,
    specificity: _Specificity = None,
    cases: _Cases = None,
    perturbations: _Perturbations = None,
    budget: _Budget = None,
    price: _Price = None,
    labels: _Labels = None,
    *,
    unpaired: _Unpaired = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.plan/1).")] = False,
) -> None:
    """How many cases, perturbations, repetitions and labels a precision takes, and what it costs. Nothing is asked."""
    from judgeharness_integrations.cli._plan import Asked, print_plan  # noqa: PLC0415 - keeps --help fast

    asked = Asked(
        config=config,
        pilot=pilot,
        judge=judge,
        criterion=criterion,
        variance=variance,
        width=width,
        difference=difference,
        paired=not unpaired,
        correlation=correlation,
        rate=rate,
        sensitivity=sensitivity,
        specificity=specificity,
        cases=cases,
        perturbations=perturbations,
        budget=budget,
        price=price,
        labels=None if labels is None else labels.value,
    )
    print_plan(asked, as_json=as_json)
