"""Two runs compared, case by case: what changed, by how much, and whether that is more than the judge's own noise."""

from judgeharness_integrations.analysis.comparison.comparing import compare
from judgeharness_integrations.analysis.comparison.difference import Difference
from judgeharness_integrations.analysis.comparison.report import (
    COMPARISON_SCHEMA,
    ComparisonReport,
    ConfigurationDifference,
    CriterionComparison,
    Flip,
    Judged,
)
from judgeharness_integrations.analysis.comparison.splits import NoiseTest

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
