"""What a self-test checks: how often an interval covers a planted truth, how often a test rejects a true hypothesis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Check",
    "Floats",
    "Interval",
    "IntervalCheck",
    "Point",
    "Points",
    "Simulation",
    "SizeCheck",
    "each",
    "each_distinct",
    "grid",
    "point_text",
]

Point: TypeAlias = Mapping[str, float]
Points: TypeAlias = tuple[Point, ...]
Floats: TypeAlias = NDArray[np.float64]
Interval: TypeAlias = "tuple[float, float] | None"
Simulation: TypeAlias = "Callable[[Point, int, np.random.Generator], tuple[Floats, Floats, Floats | float]]"
Rejections: TypeAlias = "Callable[[Point, int, np.random.Generator], Floats]"


@dataclass(frozen=True, kw_only=True)
class IntervalCheck:
    """A nominal 95 % interval and the truths it is to cover.

    Args:
        name: what it is an interval of, `calibration: Wilson interval of a rate`.
        points: the declared grid of planted truths; the first `fast` of them are simulated in the fast version.
        simulate: (point, replicates, generator) -> (low, high, truth), arrays of one entry a replicate; it draws data
            and calls the product's own function. An interval the product does not give is NaN.
        fast: how many points the fast version takes.
        fast_replicates: at most so many replicates in the fast version; for what takes long.
        conservative: it is known to cover more than its nominal 95 %, and documented so.
        narrow: it is published so and kept beside a better one, known to cover less, and documented so.
        note: what is to be known beside the numbers.

    """

    name: str
    points: Points
    simulate: Simulation
    fast: int = 2
    fast_replicates: int = 400
    conservative: bool = False
    narrow: bool = False
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class SizeCheck:
    """A test at nominal 5 %, and true null hypotheses at the edge of which it is to reject at most that often.

    Args:
        name: of the test.
        points: null hypotheses, all of them true; the first `fast` of them are simulated in the fast version.
        simulate: (point, replicates, generator) -> p-values, one a replicate; NaN where the product gives none, which
            is no rejection.
        fast: how many points the fast version takes.
        fast_replicates: at most so many replicates in the fast version; for what takes long.
        note: what is to be known beside the numbers.

    """

    name: str
    points: Points
    simulate: Rejections
    fast: int = 2
    fast_replicates: int = 400
    note: str = ""


Check: TypeAlias = IntervalCheck | SizeCheck


def point_text(point: Point) -> str:
    """Return `n=50, rate=0.9`."""
    return ", ".join(f"{name}={value:g}" for name, value in point.items())


def each_distinct(counts: Sequence[NDArray[np.intp]], interval: Callable[..., Interval]) -> tuple[Floats, Floats]:
    """Return (low, high) of `interval(*counts)` per replicate, computed once for each distinct outcome.

    Args:
        counts: arrays of shape (replicates,), the arguments of `interval` in their order.
        interval: the product's function; None becomes NaN.

    """
    outcomes, inverse = np.unique(np.stack(counts, axis=1), axis=0, return_inverse=True)
    low, high = each(interval(*(int(count) for count in outcome)) for outcome in outcomes)
    return low[inverse.reshape(-1)], high[inverse.reshape(-1)]


def each(intervals: Iterable[Interval]) -> tuple[Floats, Floats]:
    """Return (low, high) of one interval a replicate; None becomes NaN."""
    limits = np.array([(np.nan, np.nan) if limit is None else limit for limit in intervals], dtype=np.float64)
    return limits[:, 0], limits[:, 1]


def grid(**values: Sequence[float]) -> Points:
    """Return every combination of values as points, the last name varying fastest."""
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))
