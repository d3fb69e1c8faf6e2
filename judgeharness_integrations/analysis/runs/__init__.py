"""Whole runs and logs as reports: read, summed up, ready for every format."""

from .building import run_report
from .reading import read_report, results_of_log
from .report import CriterionSummary, FlipRate, JudgeSection, RunReport

__all__ = ["CriterionSummary", "FlipRate", "JudgeSection", "RunReport", "read_report", "results_of_log", "run_report"]
