"""A calibration as a data frame: one row a criterion and measure, with its interval and denominator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations.reporting.frames.building import Columns, frame

if TYPE_CHECKING:
    import pandas as pd

    from judgeharness_integrations.calibration.measure import CriterionCalibration
    from judgeharness_integrations.calibration.report import CalibrationReport

__all__ = ["MEASURES", "calibration_frame"]

_RATES = ("precision", "recall", "accuracy_decided", "coverage", "base_rate", "sensitivity", "specificity")
_ESTIMATES = ("balanced_accuracy", "lift", "ac1", "macro_f1", "spearman", "kendall", "quadratic_kappa")
MEASURES: Final = (*_RATES, "kappa", *_ESTIMATES, "mean_absolute_error", "root_mean_squared_error", "bias")

_COLUMNS: Final[Columns] = {
    "criterion": "text",
    "measure": "text",
    "value": "number",
    "low": "number",
    "high": "number",
    "se": "number",
    "successes": "count",
    "n": "count",
    "positive": "text",
    "labels": "text",
    "source": "text",
    "judge": "text",
    "measured_at": "text",
    "undefined": "text",
}


def calibration_frame(report: CalibrationReport) -> pd.DataFrame:
    """Return one row a criterion and measure: its value, 95 % interval or standard error, and `n`, what it is over.

    A measure that is undefined has a row with NA, and `undefined` says why where that is known. `labels` names the
    label set, `source` where its labels come from.

    Raises:
        NotInstalledError: pandas is not installed.

    """
    whole = {
        "labels": report.name,
        "source": report.source,
        "judge": report.judge,
        "measured_at": report.measured_at,
    }
    return frame((whole | one for measured in report.criteria.values() for one in _measures(measured)), _COLUMNS)


def _measures(measured: CriterionCalibration) -> Iterator[dict[str, Any]]:
    found = _errors(measured)
    for name in MEASURES:
        value = getattr(measured, name, None)
        record = found.get(name, {}) if value is None else _numbers(value)
        if record or not _of_scores(name):
            common = {"criterion": measured.criterion, "measure": name, "positive": measured.positive}
            why = measured.undefined.get(name) or (measured.reason or None)
            yield common | {"undefined": None if record else why} | record


def _of_scores(name: str) -> bool:
    """Whether a measure is of scores alone: labels have no row of it."""
    return name in {"spearman", "kendall", "quadratic_kappa", "mean_absolute_error", "root_mean_squared_error", "bias"}


def _numbers(value: Any) -> dict[str, Any]:
    """Return what a rate, an estimate or a kappa says."""
    numbers = {name: getattr(value, name, None) for name in ("value", "low", "high", "se", "successes")}
    trials = getattr(value, "trials", None)
    return numbers | {"n": value.n if trials is None else trials}


def _errors(measured: CriterionCalibration) -> dict[str, dict[str, Any]]:
    errors = measured.errors
    if errors is None:
        return {}
    found: dict[str, dict[str, Any]] = {}
    for name in ("mean_absolute_error", "root_mean_squared_error", "bias"):
        low, high = getattr(errors, f"{name}_interval", None) or (None, None)
        found[name] = {"value": getattr(errors, name), "low": low, "high": high, "n": errors.n}
    return found
