"""Turns one LLM-judge verdict into a measurement.

Perturb what must not matter, repeat, fold the samples with a named rule, calibrate that rule against human labels,
and report the whole measurement.
"""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy
from judgeharness_integrations._rendering import register_renderers
from judgeharness_integrations._version import __version__ as __version__

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

_FRAMES, _FRAGMENTS = "reporting.frames", "reporting.fragments"
# Values know no renderers: what shows them stands above them.
register_renderers(
    {
        "AgreementTable": {"frame": f"{_FRAMES}:agreement_frame", "fragment": f"{_FRAGMENTS}:agreement_fragment"},
        "AltTestReport": {"frame": f"{_FRAMES}:alttest_frame", "fragment": f"{_FRAGMENTS}:alttest_fragment"},
        "CalibrationReport": {
            "frame": f"{_FRAMES}:calibration_frame",
            "fragment": f"{_FRAGMENTS}:calibration_fragment",
        },
        "ComparisonReport": {
            "document": "comparison.document:comparison_document",
            "fragment": "comparison.fragment:comparison_fragment",
            "html": "comparison.page:comparison_page",
            "markdown": "comparison.markdown:comparison_markdown",
        },
        "HarnessResult": {
            "document": "reporting.document:result_document",
            "frame": f"{_FRAMES}.results:result_frame",
            "fragment": f"{_FRAGMENTS}:result_fragment",
            "reader": "reporting.rebuilding:rebuilt_result",
            "text": "reporting.text:text_report",
        },
        "RankReport": {"frame": f"{_FRAMES}:rank_frame", "fragment": f"{_FRAGMENTS}:rank_fragment"},
        "ReplayReport": {"frame": f"{_FRAMES}:replay_frame", "fragment": f"{_FRAGMENTS}:replay_fragment"},
        "RunReport": {
            "csv": "reporting.casetable:case_table",
            "frame": f"{_FRAMES}.results:report_frame",
            "fragment": f"{_FRAGMENTS}:report_fragment",
            "html": "reporting.html:html_report",
            "junit": "reporting.junit:junit_report",
            "markdown": "reporting.markdown:markdown_report",
        },
    }
)


__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
