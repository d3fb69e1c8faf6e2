"""Whole runs and logs as reports: read, summed up, ready for every format."""

from judgeharness_integrations.analysis.runs.building import run_report
from judgeharness_integrations.analysis.runs.reading import read_report, results_of_log
from judgeharness_integrations.analysis.runs.report import CriterionSummary, FlipRate, JudgeSection, RunReport

__all__ = ["CriterionSummary", "FlipRate", "JudgeSection", "RunReport", "read_report", "results_of_log", "run_report"]
