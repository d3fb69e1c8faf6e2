"""Calibration: a rule's decisions against labels, and until when that holds; label sets and labelling sheets."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from ..statistics.agreement import Kappa
    from ..statistics.means import Estimate
    from .items import Judged, LabelledItem
    from .measure import CriterionCalibration, measure_calibration
    from .rates import ClassRates, Rate, RiskCoverage, RiskPoint, ScoreErrors
    from .saved import CalibrationReport, CalibrationState

__all__ = [
    "CalibrationReport",
    "CalibrationState",
    "ClassRates",
    "CriterionCalibration",
    "Estimate",
    "Judged",
    "Kappa",
    "LabelledItem",
    "Rate",
    "RiskCoverage",
    "RiskPoint",
    "ScoreErrors",
    "measure_calibration",
]

# Loaded at first use: what is right of the verdict log does not load labelled cases and their sheets.
_HOMES = {
    "CalibrationReport": "saved",
    "CalibrationState": "saved",
    "ClassRates": "rates",
    "CriterionCalibration": "measure",
    "Estimate": ".statistics.means",
    "Judged": "items",
    "Kappa": ".statistics.agreement",
    "LabelledItem": "items",
    "Rate": "rates",
    "RiskCoverage": "rates",
    "RiskPoint": "rates",
    "ScoreErrors": "rates",
    "measure_calibration": "measure",
}


__getattr__ = lazy(__name__, _HOMES)
