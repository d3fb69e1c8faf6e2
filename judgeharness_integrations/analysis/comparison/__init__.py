"""Two runs compared, case by case: what changed, by how much, and whether that is more than the judge's own noise."""

from judgeharness_integrations.analysis.comparison.comparing import compare
from judgeharness_integrations.analysis.comparison.configuration import ConfigurationDifference, Judged
from judgeharness_integrations.analysis.comparison.difference import Difference
from judgeharness_integrations.analysis.comparison.noise import NoiseTest
from judgeharness_integrations.analysis.comparison.report import (
    COMPARISON_SCHEMA,
    ComparisonReport,
    CriterionComparison,
    Flip,
)

__all__ = [
    "COMPARISON_SCHEMA",
    "ComparisonReport",
    "ConfigurationDifference",
    "CriterionComparison",
    "Difference",
    "Flip",
    "Judged",
    "NoiseTest",
    "compare",
]
