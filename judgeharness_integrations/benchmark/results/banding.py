"""Pairs by how hard they are for judges: bands of about equal size, pairs of the same difficulty in one band."""

from __future__ import annotations

from collections.abc import Mapping

from judgeharness_integrations._errors import UsageError

__all__ = ["bands_of"]

_SAME = 1e-6  # Elo: pairs of the same pattern differ by rounding alone


def bands_of(difficulty: Mapping[str, float], *, bands: int) -> tuple[tuple[str, ...], ...]:
    """Return the ids of the pairs of each band, the easiest band first; within a band in the order given.

    The cuts are quantiles. Pairs of the same difficulty stay together, in the band in which the middle of them falls,
    so that bands may differ in size, and some may be empty where few difficulties occur.

    Args:
        difficulty: pair id -> Elo.
        bands: how many.

    Raises:
        UsageError: fewer than one band is wanted.

    """
    if bands < 1:
        raise UsageError(f"--bands must be at least 1, not {bands}.")
    ordered = sorted(difficulty, key=lambda pair: (difficulty[pair], pair))
    placed: dict[str, int] = {}
    start = 0
    while start < len(ordered):
        end = start + 1
        while end < len(ordered) and _alike(difficulty[ordered[end - 1]], difficulty[ordered[end]]):
            end += 1
        band = (start + end - 1) * bands // (2 * len(ordered))
        placed |= dict.fromkeys(ordered[start:end], band)
        start = end
    return tuple(tuple(pair for pair in difficulty if placed[pair] == band) for band in range(bands))


def _alike(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= _SAME  # infinite difficulties are equal or not
