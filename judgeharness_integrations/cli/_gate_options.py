"""The options of every command that checks gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import typer

from judgeharness_integrations._errors import UsageError

Scale: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The ends of scores, as 1:10, where they are weighed sequentially.", show_default=False),
]
StepSummary: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--step-summary/--no-step-summary", help="Append the report to $GITHUB_STEP_SUMMARY where that is set."
    ),
]


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """The gates of a command line; None leaves a choice to the configuration."""

    fail_under: Annotated[
        tuple[str, ...],
        typer.Option(
            help="Gate METRIC OP VALUE, as 'pass_rate>=0.9': exit code 1 unless the worse end of the 95 % interval "
            "clears it. Metrics: pass_rate, rate(LABEL), accuracy, coverage, abstention, not_graded, consistency, "
            "agreement, mean_score, position_flip, flip_rate(PERTURBATION); of a calibration precision, recall, "
            "specificity, balanced_accuracy, kappa, lift. May be given several times.",
            show_default=False,
        ),
    ] = ()
    max_abstention: Annotated[
        float | None, typer.Option(help="Gate: abstention<=VALUE, a share of the cases.", show_default=False)
    ] = None
    min_consistency: Annotated[
        float | None, typer.Option(help="Gate: consistency>=VALUE, the mean over cases.", show_default=False)
    ] = None
    require_calibration: Annotated[
        bool | None,
        typer.Option(
            "--require-calibration/--no-require-calibration",
            help="Gate: a calibration on people's labels holds for every judge and criterion.",
            show_default=False,
        ),
    ] = None
    point_estimates: Annotated[
        bool | None,
        typer.Option(
            "--point-estimates/--no-point-estimates",
            help="Gates look at the measured value instead of the end of its interval.",
            show_default=False,
        ),
    ] = None
    sequential: Annotated[
        bool | None,
        typer.Option(
            "--sequential/--no-sequential",
            help="Gates that hold however often one looks: evidence instead of intervals of a fixed number of cases.",
            show_default=False,
        ),
    ] = None
    about: Annotated[
        Literal["population", "suite"] | None,
        typer.Option(
            help="What sequential gates are about: the population the cases are from, or this suite, exact once "
            "all is in.",
            show_default="population",
        ),
    ] = None
    scale: Scale = None

    @property
    def given(self) -> bool:
        """Whether any option is."""
        return self != GateOptions()


def ends_of(scale: str | None) -> tuple[float, float] | None:
    """Return the ends of a scale.

    Raises:
        UsageError: they are not two numbers.

    """
    if scale is None:
        return None
    try:
        low, high = map(float, scale.split(":"))
    except ValueError:
        raise UsageError(f"--scale {scale!r:.60} has no two ends: write LOW:HIGH, as 1:10.") from None
    return low, high
