"""Two runs compared, case by case: what changed, by how much, and whether that is more than the judge's own noise."""

from .comparing import compare
from .difference import Difference
from .report import COMPARISON_SCHEMA, ComparisonReport, ConfigurationDifference, CriterionComparison, Flip, Judged
from .splits import NoiseTest

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
