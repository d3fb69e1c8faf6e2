"""The measures of a calibration as rows of a table, those that are defined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from judgeharness_integrations.calibration.measure import CriterionCalibration
from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.calibration.report import CalibrationReport

__all__ = ["measured_rows"]

_RATES: Final = ("precision", "recall", "accuracy_decided", "coverage", "specificity")
_MEASURES: Final = (
    *_RATES,
    "balanced_accuracy",
    "kappa",
    "lift",
    "ac1",
    "macro_f1",
    "spearman",
    "kendall",
    "quadratic_kappa",
)


def measured_rows(report: CalibrationReport) -> list[tuple[str, ...]]:
    """Return (criterion, measure, value, interval, denominator) of every measure that is defined."""
    return [row for measured in report.criteria.values() for row in _rows(measured)]


def _rows(measured: CriterionCalibration) -> Iterator[tuple[str, ...]]:
    for name in _MEASURES:
        value: Any = getattr(measured, name)
        if value is not None:
            of = f"{value.successes}/{value.trials}" if isinstance(value, Rate) else f"n={value.n}"
            yield measured.criterion, name.replace("_", " "), f"{value.value:.3f}", _interval(value), of
    if (errors := measured.errors) is not None:
        for name in ("mean_absolute_error", "bias"):
            ends = getattr(errors, f"{name}_interval")
            shown = "-" if ends is None else f"{ends[0]:.3f} to {ends[1]:.3f}"
            yield measured.criterion, name.replace("_", " "), f"{getattr(errors, name):.3f}", shown, f"n={errors.n}"


def _interval(value: Any) -> str:
    low, high = getattr(value, "low", None), getattr(value, "high", None)
    if low is not None and high is not None:
        return f"{low:.3f} to {high:.3f}"
    error = getattr(value, "se", None)
    return "-" if error is None else f"SE {error:.3f}"
