"""Whole runs and logs as reports: read, summed up, ready for every format."""

from judgeharness_integrations.reporting.runs.building import run_report
from judgeharness_integrations.reporting.runs.fromlog import results_of_log
from judgeharness_integrations.reporting.runs.reading import read_report
from judgeharness_integrations.reporting.runs.report import JudgeSection, RunReport
from judgeharness_integrations.reporting.runs.summary import CriterionSummary, FlipRate

__all__ = ["CriterionSummary", "FlipRate", "JudgeSection", "RunReport", "read_report", "results_of_log", "run_report"]
