"""Several tests in one report: p-values adjusted so that the whole report keeps its level."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["holm"]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm (1979, Scand J Statist 6:65), in the order they came in.

    Rejecting those at or below alpha rejects any true hypothesis with a chance of at most alpha, however the tests
    depend on one another.
    """
    adjusted = [1.0] * len(p_values)
    running = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        running = max(running, (len(p_values) - rank) * p_values[place])
        adjusted[place] = min(1.0, running)
    return adjusted
