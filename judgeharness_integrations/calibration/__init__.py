"""Calibration: a rule's decisions against labels, and until when that holds."""

from judgeharness_integrations.calibration.labels import CalibrationSet, LabeledExample
from judgeharness_integrations.calibration.measure import CriterionCalibration, Judged, measure_calibration
from judgeharness_integrations.calibration.rates import Kappa, Rate, ScoreErrors
from judgeharness_integrations.calibration.report import CalibrationReport, CalibrationState

__all__ = [
    "CalibrationReport",
    "CalibrationSet",
    "CalibrationState",
    "CriterionCalibration",
    "Judged",
    "Kappa",
    "LabeledExample",
    "Rate",
    "ScoreErrors",
    "measure_calibration",
]
