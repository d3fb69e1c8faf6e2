"""One family of tests a report: the weights that Holm's procedure gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["DIFFERENCE_WEIGHT", "NOISE_WEIGHT", "first_levels"]

DIFFERENCE_WEIGHT: Final = 4.0
NOISE_WEIGHT: Final = 1.0


def first_levels(weights: Sequence[float], alpha: float) -> list[float]:
    """Return the level each test has to reach by itself, whatever the others say: its share of alpha."""
    total = sum(weights)
    return [alpha * weight / total for weight in weights]
