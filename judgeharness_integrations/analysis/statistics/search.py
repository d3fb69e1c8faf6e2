"""Searches: the smallest number that is enough, and where something that only rises crosses a bar."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray


def fewest(enough: Callable[[int], bool], *, least: int = 1, most: int) -> int | None:
    """Return the smallest number of `least` to `most` that is enough, by doubling and bisection; None where none is.

    Where more is not always enough, as power rises with n in teeth, this is where a bisection meets it; see
    `fewest_for_good`.
    """
    low, high = least - 1, least
    while not enough(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    return low + 1 + bisect_left(range(low + 1, high), 1, key=enough)


def fewest_for_good(enough: Callable[[int], bool], grid: Sequence[int]) -> int | None:
    """Return the smallest number from which on every number is enough, where it rises and falls in teeth.

    Args:
        enough: asked of the numbers of the grid, and of every number next to the last of them that is not enough.
        grid: ascending; its steps are shorter than a tooth, or the last tooth may be missed.

    Returns:
        The first number of the grid where all of it is enough; None where the last of it is not.

    """
    last_short = next((place for place in reversed(range(len(grid))) if not enough(grid[place])), None)
    if last_short is None:
        return grid[0]
    if last_short == len(grid) - 1:
        return None
    beyond = grid[min(last_short + 2, len(grid) - 1)]
    return 1 + next(number for number in reversed(range(grid[last_short], beyond)) if not enough(number))


def last(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last whole number from `low` on, below `high`, that holds; `low` is not asked.

    Args:
        holds: true up to some number, and false from there on.
        low: is taken to hold.
        high: is taken not to hold.

    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def bisected(below: Callable[[float], bool], low: float, high: float, *, steps: int) -> tuple[float, float]:
    """Return an interval, `steps` times halved, that holds where `below` turns from true to false.

    Args:
        below: whether a number lies below the crossing.
        low: is taken to lie below it.
        high: is taken not to.
        steps: halvings; after 60 nothing is left to halve between 0 and 1.

    """
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return low, high


def bisected_each(
    below: Callable[[NDArray[np.float64]], NDArray[np.bool_]],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    *,
    steps: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of `bisected` for arrays of one shape, each element by itself."""
    for _ in range(steps):
        middle = (low + high) / 2
        under = below(middle)
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return low, high
