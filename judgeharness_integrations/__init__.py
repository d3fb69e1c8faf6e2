"""Turns one LLM-judge verdict into a measurement.

Perturb what must not matter, repeat, fold the samples with a named rule, calibrate that rule against human labels,
and report the whole measurement.
"""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from judgeharness_integrations._errors import JudgeHarnessError
    from judgeharness_integrations.aggregation import Rule
    from judgeharness_integrations.calibration import CalibrationReport, CalibrationSet
    from judgeharness_integrations.cases import AnswerCase, Criterion, PairwiseCase
    from judgeharness_integrations.harness import JudgeHarness
    from judgeharness_integrations.judging import JudgeIdentity, Judgment
    from judgeharness_integrations.perturbations import Perturbation
    from judgeharness_integrations.result import HarnessResult
    from judgeharness_integrations.verdictlog import VerdictRow, read_log, write_log

__version__ = "0.1.0"

__all__ = [
    "AnswerCase",
    "CalibrationReport",
    "CalibrationSet",
    "Criterion",
    "HarnessResult",
    "JudgeHarness",
    "JudgeHarnessError",
    "JudgeIdentity",
    "Judgment",
    "PairwiseCase",
    "Perturbation",
    "Rule",
    "VerdictRow",
    "read_log",
    "write_log",
]

# Loaded at first use: reading a log should not pay for asking judges.
_HOMES = {
    "AnswerCase": "cases",
    "CalibrationReport": "calibration",
    "CalibrationSet": "calibration",
    "Criterion": "cases",
    "HarnessResult": "result",
    "JudgeHarness": "harness",
    "JudgeHarnessError": "_errors",
    "JudgeIdentity": "judging",
    "Judgment": "judging",
    "PairwiseCase": "cases",
    "Perturbation": "perturbations",
    "Rule": "aggregation",
    "VerdictRow": "verdictlog",
    "read_log": "verdictlog",
    "write_log": "verdictlog",
}


__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
