"""The self-test: every interval the product prints, simulated on planted truths, and the size of its tests."""

from judgeharness_integrations.testing.selftest.check import IntervalCheck, Point, SizeCheck
from judgeharness_integrations.testing.selftest.report import CheckFound, PointFound, SelftestReport
from judgeharness_integrations.testing.selftest.running import run_selftest

__all__ = ["CheckFound", "IntervalCheck", "Point", "PointFound", "SelftestReport", "SizeCheck", "run_selftest"]
