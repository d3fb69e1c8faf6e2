"""Judges that answer with probabilities: scores, reliability, maps, and what can be told of them without labels."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.probability.canary import CanaryReport, watch
    from judgeharness_integrations.analysis.probability.distributions import FLOOR, checked, distance
    from judgeharness_integrations.analysis.probability.fitting import Choice, CrossFit, choose, cross_fit, fit, mapped
    from judgeharness_integrations.analysis.probability.forecasts import (
        AnswerChange,
        Forecasts,
        RetestBand,
        answer_change,
        labelled_answers,
        retest_band,
    )
    from judgeharness_integrations.analysis.probability.maps import ProbabilityMap
    from judgeharness_integrations.analysis.probability.report import (
        ProbabilityFigures,
        ProbabilityReport,
        assess,
        figures,
    )
    from judgeharness_integrations.analysis.probability.scores import (
        CalibrationError,
        ReliabilityPoint,
        calibration_error,
        reliability_curve,
    )

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
    "FLOOR": "distributions",
    "AnswerChange": "forecasts",
    "CalibrationError": "scores",
    "CanaryReport": "canary",
    "Choice": "fitting",
    "CrossFit": "fitting",
    "Forecasts": "forecasts",
    "ProbabilityFigures": "report",
    "ProbabilityMap": "maps",
    "ProbabilityReport": "report",
    "ReliabilityPoint": "scores",
    "RetestBand": "forecasts",
    "answer_change": "forecasts",
    "assess": "report",
    "calibration_error": "scores",
    "checked": "distributions",
    "choose": "fitting",
    "cross_fit": "fitting",
    "distance": "distributions",
    "figures": "report",
    "fit": "fitting",
    "labelled_answers": "forecasts",
    "mapped": "fitting",
    "reliability_curve": "scores",
    "retest_band": "forecasts",
    "watch": "canary",
}


__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
