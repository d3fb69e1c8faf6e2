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
_Pilot = Annotated[
    Path | None, typer.Option(help="A log, or a run's folder, with repetitions or perturbations.", show_default=False)
]
_Judge = Annotated[
    str | None,
    typer.Option(help="Which judge of the pilot; a pattern (GPT-4/*): several, its prompts.", show_default=False),
]
_Criterion = Annotated[str | None, typer.Option(help="Which criterion of the pilot.", show_default=False)]
_Variance = Annotated[
    str | None,
    typer.Option(help="Instead of a pilot: variance between CASES,PERTURBATIONS,REPETITIONS.", show_default=False),
]
_Width = Annotated[
    float | None, typer.Option(help="Wanted width of the 95 % interval that report prints.", show_default="0.1")
]
_Difference = Annotated[
    float | None, typer.Option(help="Or: difference between two systems that compare is to find.", show_default=False)
]
_Rule = Annotated[
    str | None, typer.Option(help="Rule of the decisions.", show_default="the configuration's, else majority or median")
]
_Assurance = Annotated[float, typer.Option(help="Share of studies that are to reach the goal.")]
_Expected = Annotated[
    bool, typer.Option("--expected", help="Take the pilot for certain: a quarter to two thirds of studies do.")
]
_Correlation = Annotated[float, typer.Option(help="Assumed correlation of two systems over the same cases.")]
_Rate = Annotated[float, typer.Option(help="Anticipated agreement, precision or sensitivity, for the labels.")]
_Sensitivity = Annotated[float | None, typer.Option(help="Of the judge, for a corrected rate.", show_default=False)]
_Specificity = Annotated[float | None, typer.Option(help="Of the judge, for a corrected rate.", show_default=False)]
_Cases = Annotated[int | None, typer.Option(help="Cases at hand.", show_default=False)]
_Perturbations = Annotated[int | None, typer.Option(help="How many; several are tried else.", show_default=False)]
_Budget = Annotated[int | None, typer.Option(help="Calls that may be made.", show_default=False)]
_Certify = Annotated[
    float | None,
    typer.Option(help="Or: what a certificate of this agreement takes, by a labelled pilot.", show_default=False),
]
_Delta = Annotated[float, typer.Option(help="1 - confidence of the certificate.")]
_Candidates = Annotated[
    int | None,
    typer.Option(help="Judges, rules, ... of which one is certified on the same labels.", show_default="1"),
]
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
    rule: _Rule = None,
    assurance: _Assurance = 0.8,
    correlation: _Correlation = 0.5,
    rate: _Rate = 0.8,
    sensitivity: _Sensitivity = None,
    specificity: _Specificity = None,
    cases: _Cases = None,
    perturbations: _Perturbations = None,
    budget: _Budget = None,
    price: _Price = None,
    labels: _Labels = None,
    certify: _Certify = None,
    delta: _Delta = 0.1,
    candidates: _Candidates = None,
    *,
    expected: _Expected = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.plan/1).")] = False,
) -> None:
    """How many cases, samples and labels it takes for what report and compare print, and its cost. Nothing is asked."""
    from judgeharness_integrations.cli._plan import Asked, print_plan  # noqa: PLC0415 - keeps --help fast

    asked = Asked(
        config=config,
        pilot=pilot,
        judge=judge,
        criterion=criterion,
        variance=variance,
        width=width,
        difference=difference,
        rule=rule,
        assurance=None if expected else assurance,
        correlation=correlation,
        rate=rate,
        sensitivity=sensitivity,
        specificity=specificity,
        cases=cases,
        perturbations=perturbations,
        budget=budget,
        price=price,
        labels=None if labels is None else labels.value,
        certify=certify,
        delta=delta,
        candidates=candidates,
    )
    print_plan(asked, as_json=as_json)
