"""Turns one LLM-judge verdict into a measurement.

Perturb what must not matter, repeat, fold the samples with a named rule, calibrate that rule against human labels,
and report the whole measurement.
"""

from typing import TYPE_CHECKING

from ._lazy import lazy, register_renderers
from ._version import __version__ as __version__

if TYPE_CHECKING:
    from ._errors import JudgeHarnessError
    from .analysis.aggregation import Rule
    from .analysis.calibration import CalibrationReport
    from .analysis.result import HarnessResult
    from .judging.calibrating import CalibrationSet
    from .judging.cases import AnswerCase, Criterion, PairwiseCase
    from .judging.harness import JudgeHarness
    from .judging.judge import JudgeIdentity, Judgment
    from .judging.perturbations import Perturbation
    from .verdictlog import VerdictRow, read_log, write_log

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
    "AnswerCase": "judging.cases",
    "CalibrationReport": "analysis.calibration.saved",
    "CalibrationSet": "judging.calibrating",
    "Criterion": "judging.cases",
    "HarnessResult": "analysis.result",
    "JudgeHarness": "judging.harness",
    "JudgeHarnessError": "_errors",
    "JudgeIdentity": "judging.judge",
    "Judgment": "judging.judge",
    "PairwiseCase": "judging.cases",
    "Perturbation": "judging.perturbations.base",
    "Rule": "analysis.aggregation.rules",
    "VerdictRow": "verdictlog.row",
    "read_log": "verdictlog.files",
    "write_log": "verdictlog.files",
}

_FRAMES, _FRAGMENTS = "reporting.frames", "reporting.fragments.results"
# Values know no renderers: what shows them stands above them.
register_renderers(
    {
        "AgreementTable": {"frame": f"{_FRAMES}:agreement_frame", "fragment": "reporting.agreement:agreement_fragment"},
        "AltTestReport": {
            "card": "reporting.html.annotatorcards:annotators_card",
            "frame": f"{_FRAMES}:alttest_frame",
            "fragment": "reporting.agreement:alttest_fragment",
            "section": "reporting.agreement:alt_test_section",
        },
        "CalibrationReport": {
            "frame": f"{_FRAMES}:calibration_frame",
            "fragment": "reporting.calibrationtext:calibration_fragment",
        },
        "ComparisonReport": {
            "document": "reporting.comparison:comparison_document",
            "fragment": "reporting.comparison:comparison_fragment",
            "html": "reporting.comparisonpage:comparison_page",
            "markdown": "reporting.comparison:comparison_markdown",
        },
        "HarnessResult": {
            "document": "analysis.document:result_document",
            "frame": f"{_FRAMES}:result_frame",
            "fragment": f"{_FRAGMENTS}:result_fragment",
            "reader": "analysis.rebuilding:rebuilt_result",
            "text": "reporting.text:text_report",
        },
        "PanelVotes": {"document": "analysis.ranking.panels:panel_document"},
        "RankReport": {"frame": f"{_FRAMES}:rank_frame", "fragment": "reporting.ranking:rank_fragment"},
        "ReplayReport": {"frame": f"{_FRAMES}:replay_frame", "fragment": "reporting.measured:replay_fragment"},
        "RunReport": {
            "annotated": "analysis.agreement.panelfiles:annotated_by_file",
            "csv": "reporting.rundocument:case_table",
            "frame": f"{_FRAMES}:report_frame",
            "fragment": "reporting.runsection:report_fragment",
            "html": "reporting.html:html_report",
            "junit": "reporting.rundocument:junit_report",
            "markdown": "reporting.runsection:markdown_report",
        },
    }
)


__getattr__ = lazy(__name__, _HOMES)
