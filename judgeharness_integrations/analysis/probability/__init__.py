"""Judges that answer with probabilities: scores, reliability, maps, and what can be told of them without labels."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from .canary import CanaryReport, watch
    from .forecasts import AnswerChange, Forecasts, RetestBand, answer_change, labelled_answers, retest_band
    from .maps import FLOOR, ProbabilityMap, checked, distance
    from .report import (
        Choice,
        CrossFit,
        ProbabilityFigures,
        ProbabilityReport,
        assess,
        choose,
        cross_fit,
        figures,
        fit,
        mapped,
    )
    from .scores import CalibrationError, ReliabilityPoint, calibration_error, reliability_curve

__all__ = [
    "FLOOR",
    "AnswerChange",
    "CalibrationError",
    "CanaryReport",
    "Choice",
    "CrossFit",
    "Forecasts",
    "ProbabilityFigures",
    "ProbabilityMap",
    "ProbabilityReport",
    "ReliabilityPoint",
    "RetestBand",
    "answer_change",
    "assess",
    "calibration_error",
    "checked",
    "choose",
    "cross_fit",
    "distance",
    "figures",
    "fit",
    "labelled_answers",
    "mapped",
    "reliability_curve",
    "retest_band",
    "watch",
]

_HOMES = {
    "FLOOR": "maps",
    "AnswerChange": "forecasts",
    "CalibrationError": "scores",
    "CanaryReport": "canary",
    "Choice": "report",
    "CrossFit": "report",
    "Forecasts": "forecasts",
    "ProbabilityFigures": "report",
    "ProbabilityMap": "maps",
    "ProbabilityReport": "report",
    "ReliabilityPoint": "scores",
    "RetestBand": "forecasts",
    "answer_change": "forecasts",
    "assess": "report",
    "calibration_error": "scores",
    "checked": "maps",
    "choose": "report",
    "cross_fit": "report",
    "distance": "maps",
    "figures": "report",
    "fit": "report",
    "labelled_answers": "forecasts",
    "mapped": "report",
    "reliability_curve": "scores",
    "retest_band": "forecasts",
    "watch": "canary",
}


__getattr__ = lazy(__name__, _HOMES)
