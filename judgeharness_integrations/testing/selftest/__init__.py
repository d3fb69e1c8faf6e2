"""The self-test: intervals and tests on planted truths, reports on judges of known faults, rules, workflows."""

from .check import AlarmCheck, FailureCheck, IntervalCheck, Point, PointFound, PowerCheck, PromiseCheck, SizeCheck
from .report import CheckFound, SelftestReport, run_selftest

__all__ = [
    "AlarmCheck",
    "CheckFound",
    "FailureCheck",
    "IntervalCheck",
    "Point",
    "PointFound",
    "PowerCheck",
    "PromiseCheck",
    "SelftestReport",
    "SizeCheck",
    "run_selftest",
]
