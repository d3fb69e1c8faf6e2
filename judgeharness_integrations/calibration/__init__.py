"""Calibration: a rule's decisions against labels, and until when that holds; label sets and labelling sheets."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from judgeharness_integrations.calibration.classes import ClassRates
    from judgeharness_integrations.calibration.items import LabelledItem
    from judgeharness_integrations.calibration.labels import CalibrationSet, LabeledExample
    from judgeharness_integrations.calibration.measure import CriterionCalibration, Judged, measure_calibration
    from judgeharness_integrations.calibration.rates import Rate, ScoreErrors
    from judgeharness_integrations.calibration.report import CalibrationReport, CalibrationState
    from judgeharness_integrations.calibration.riskcoverage import RiskCoverage, RiskPoint
    from judgeharness_integrations.calibration.sheet import write_labelling_sheet
    from judgeharness_integrations.calibration.sheetlabels import (
        SheetLabel,
        calibration_set_from_sheet,
        read_labelling_sheet,
    )
    from judgeharness_integrations.statistics.agreement import Kappa
    from judgeharness_integrations.statistics.means import Estimate

__all__ = [
    "CalibrationReport",
    "CalibrationSet",
    "CalibrationState",
    "ClassRates",
    "CriterionCalibration",
    "Estimate",
    "Judged",
    "Kappa",
    "LabeledExample",
    "LabelledItem",
    "Rate",
    "RiskCoverage",
    "RiskPoint",
    "ScoreErrors",
    "SheetLabel",
    "calibration_set_from_sheet",
    "measure_calibration",
    "read_labelling_sheet",
    "write_labelling_sheet",
]

# Loaded at first use: what is right of the verdict log does not load labelled cases and their sheets.
_HOMES = {
    "CalibrationReport": "report",
    "CalibrationSet": "labels",
    "CalibrationState": "report",
    "ClassRates": "classes",
    "CriterionCalibration": "measure",
    "Estimate": "measure",
    "Judged": "measure",
    "Kappa": "measure",
    "LabeledExample": "labels",
    "LabelledItem": "items",
    "Rate": "rates",
    "RiskCoverage": "riskcoverage",
    "RiskPoint": "riskcoverage",
    "ScoreErrors": "rates",
    "SheetLabel": "sheetlabels",
    "calibration_set_from_sheet": "sheetlabels",
    "measure_calibration": "measure",
    "read_labelling_sheet": "sheetlabels",
    "write_labelling_sheet": "sheet",
}


__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
