"""One family of tests a report: weighted Holm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["DIFFERENCE_WEIGHT", "NOISE_WEIGHT", "first_levels", "weighted_holm"]

DIFFERENCE_WEIGHT: Final = 4.0
NOISE_WEIGHT: Final = 1.0


def weighted_holm(p_values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return adjusted p-values; those of at most alpha are the rejections at level alpha (Holm 1979, section 4).

    Tests are taken in the order of p / weight; each is multiplied by the weights that are left over its own, and no
    adjusted value is below an earlier one. With equal weights it is Holm's well-known procedure.

    Args:
        p_values: one a test.
        weights: what share of the level each test gets, in any unit; all above 0.

    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place] / weights[place])
    adjusted, running, left = [1.0] * len(p_values), 0.0, sum(weights)
    for place in order:
        running = max(running, p_values[place] / weights[place] * left)
        adjusted[place] = min(1.0, running)
        left -= weights[place]
    return adjusted


def first_levels(weights: Sequence[float], alpha: float) -> list[float]:
    """Return the level each test has to reach by itself, whatever the others say: its share of alpha."""
    total = sum(weights)
    return [alpha * weight / total for weight in weights]
