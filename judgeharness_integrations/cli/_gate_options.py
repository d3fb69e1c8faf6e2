"""The options of every command that checks gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import typer

__all__ = [
    "FailUnder",
    "GateOptions",
    "MaxAbstention",
    "MinConsistency",
    "PointEstimates",
    "RequireCalibration",
    "StepSummary",
]

FailUnder: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Gate METRIC OP VALUE, as 'pass_rate>=0.9': exit code 1 unless the worse end of the 95 % interval clears "
        "it. Metrics: pass_rate, rate(LABEL), accuracy, coverage, abstention, not_graded, consistency, agreement, "
        "mean_score, position_flip, flip_rate(PERTURBATION), precision, recall. May be given several times.",
        show_default=False,
    ),
]
MaxAbstention: TypeAlias = Annotated[
    float | None, typer.Option(help="Gate: abstention<=VALUE, a share of the cases.", show_default=False)
]
MinConsistency: TypeAlias = Annotated[
    float | None, typer.Option(help="Gate: consistency>=VALUE, the mean over cases.", show_default=False)
]
RequireCalibration: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--require-calibration/--no-require-calibration",
        help="Gate: a calibration on people's labels holds for every judge and criterion.",
        show_default=False,
    ),
]
PointEstimates: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--point-estimates/--no-point-estimates",
        help="Gates look at the measured value instead of the end of its interval.",
        show_default=False,
    ),
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

    fail_under: Sequence[str] | None = None
    max_abstention: float | None = None
    min_consistency: float | None = None
    require_calibration: bool | None = None
    point_estimates: bool | None = None

    @property
    def given(self) -> bool:
        """Whether any gate is."""
        return bool(self.fail_under or self.require_calibration) or (self.max_abstention, self.min_consistency) != (
            None,
            None,
        )
