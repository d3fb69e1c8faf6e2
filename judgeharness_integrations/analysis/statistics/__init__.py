"""Statistics: every interval, test, power and search of the package that more than one room uses. Pure functions."""

from typing import Final

__all__ = ["CONFIDENCE", "POWER"]

CONFIDENCE: Final = 0.95  # of an interval, unless several hold together
POWER: Final = 0.8  # the share of studies that are to find what is there, or to reach their goal
