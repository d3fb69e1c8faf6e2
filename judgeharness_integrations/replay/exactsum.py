"""Sums of any number of floats in bounded memory, the same whatever the order of the terms."""

from __future__ import annotations

import math

__all__ = ["ExactMean"]

_MOST_TERMS = 512


class ExactMean:
    """The mean of the values added: their exact sum, rounded once as `math.fsum` does, over their number."""

    __slots__ = ("_terms", "count")

    def __init__(self) -> None:
        """Start without values."""
        self._terms: list[float] = []
        self.count = 0

    def add(self, value: float) -> None:
        """Take in a value."""
        self.count += 1
        self._terms.append(value)
        if len(self._terms) > _MOST_TERMS:
            self._terms = _condensed(self._terms)

    @property
    def value(self) -> float | None:
        """The mean; None without values."""
        return math.fsum(self._terms) / self.count if self.count else None


def _condensed(terms: list[float]) -> list[float]:
    """Return a few floats with exactly the sum of the terms: the rounded sum, the rounded rest, and so on."""
    parts: list[float] = []
    while rest := math.fsum([*terms, *(-part for part in parts)]):
        parts.append(rest)
    return parts
