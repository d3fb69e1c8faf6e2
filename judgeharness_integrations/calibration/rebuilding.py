"""The measures of one criterion, back from JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from judgeharness_integrations.calibration.classes import ClassRates
from judgeharness_integrations.calibration.controls import Controls
from judgeharness_integrations.calibration.measure import CriterionCalibration
from judgeharness_integrations.calibration.rates import Rate, ScoreErrors
from judgeharness_integrations.calibration.riskcoverage import RiskCoverage, RiskPoint
from judgeharness_integrations.calibration.selection import Selection
from judgeharness_integrations.calibration.strata import Strata
from judgeharness_integrations.statistics.agreement import Kappa
from judgeharness_integrations.statistics.means import Estimate

__all__ = ["criterion_from_dict"]

_RATES = ("precision", "recall", "accuracy_decided", "coverage", "base_rate", "sensitivity", "specificity")
_ESTIMATES = ("ac1", "balanced_accuracy", "macro_f1", "spearman", "kendall", "quadratic_kappa")


def criterion_from_dict(data: Mapping[str, Any]) -> CriterionCalibration:
    """Rebuild what `dataclasses.asdict` made of a `CriterionCalibration`; measures it was saved without are None.

    Raises:
        TypeError, ValueError, KeyError, AttributeError: it is something else.

    """
    parts: dict[str, Any] = {
        name: _PARTS[name](value) if name in _PARTS and value is not None else value for name, value in data.items()
    }
    return CriterionCalibration(**parts)


def _errors(data: Mapping[str, Any]) -> ScoreErrors:
    intervals = ("mean_absolute_error_interval", "bias_interval")
    parts: dict[str, Any] = {
        name: tuple(value) if name in intervals and value is not None else value for name, value in data.items()
    }
    return ScoreErrors(**parts)


def _classes(data: Mapping[str, Any]) -> dict[str, ClassRates]:
    classes: dict[str, ClassRates] = {}
    for label, rates in data.items():
        parts: dict[str, Any] = {name: value if name == "support" else _rate(value) for name, value in rates.items()}
        classes[label] = ClassRates(**parts)
    return classes


def _rate(data: Mapping[str, Any] | None) -> Rate | None:
    return None if data is None else Rate(**data)


def _curve(data: Mapping[str, Any]) -> RiskCoverage:
    points = tuple(RiskPoint(**point) for point in data["points"])
    return RiskCoverage(**{**data, "points": points})


_PARTS: dict[str, Callable[[Any], object]] = {
    **dict.fromkeys(_RATES, _rate),
    **dict.fromkeys(_ESTIMATES, lambda value: Estimate(**value)),
    "kappa": lambda value: Kappa(**value),
    "errors": _errors,
    "controls": Controls.from_dict,
    "per_class": _classes,
    "risk_coverage": _curve,
    "selection": lambda value: Selection(**value),
    "plain": lambda value: {name: tuple(ends) for name, ends in value.items()},
    "strata": Strata.from_dict,
}
