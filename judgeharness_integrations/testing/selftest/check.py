"""What a self-test checks: intervals, tests, reports on judges, promises of rules and of whole workflows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Point: TypeAlias = Mapping[str, float]
Points: TypeAlias = tuple[Point, ...]
Named: TypeAlias = Mapping[str, "float | str"]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Interval: TypeAlias = "tuple[float, float] | None"
Simulation: TypeAlias = "Callable[[Point, int, np.random.Generator], tuple[Floats, Floats, Floats | float]]"
Rejections: TypeAlias = "Callable[[Point, int, np.random.Generator], Floats]"
Reports: TypeAlias = "Callable[[Point, int, np.random.Generator], tuple[Bools, Bools]]"
Alarms: TypeAlias = "Callable[[Point, int, np.random.Generator], Bools]"
Studies: TypeAlias = "Callable[[Point, int, np.random.Generator], Floats]"
Enumeration: TypeAlias = "Callable[[Named], tuple[int, Sequence[str]]]"


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


@dataclass(frozen=True, kw_only=True)
class PowerCheck:
    """A fault planted in a simulated judge, and how often a whole report on that judge names it.

    Args:
        name: the fault.
        points: strengths of the fault, weakest first; the last `fast` of them are simulated in the fast version.
        simulate: (point, replicates, generator) -> two arrays of one entry a report: it fails the planted property;
            it fails another one, which is not to happen more often than at the level of the report.
        declared: the last `declared` points are where power must reach 80 %.
        fast: how many points the fast version takes; none of a fault that is like another one.
        fast_replicates: at most so many reports in the fast version.
        full_replicates: so many reports in the full version.
        note: what is to be known beside the numbers.

    """

    name: str
    points: Points
    simulate: Reports
    declared: int = 1
    fast: int = 1
    fast_replicates: int = 3
    full_replicates: int = 100
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class AlarmCheck:
    """A simulated judge without a fault, and how often a whole report on it fails it all the same.

    Args:
        name: of the judge.
        points: judges without a fault; the first `fast` of them are simulated in the fast version.
        simulate: (point, replicates, generator) -> whether a report fails any property, one entry a report.
        fast: how many points the fast version takes.
        fast_replicates: at most so many reports in the fast version.
        full_replicates: so many reports in the full version.
        note: what is to be known beside the numbers.

    """

    name: str
    points: Points
    simulate: Alarms
    fast: int = 1
    fast_replicates: int = 8
    full_replicates: int = 400
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class FailureCheck:
    """A promise of rules about failed samples, looked at for every sequence of outcomes: nothing is drawn.

    Args:
        name: the promise.
        points: rules and numbers of samples; the first `fast` of them are looked at in the fast version.
        sequences: point -> how many were tried, and a sentence for each that breaks the promise.
        fast: how many points the fast version takes.
        note: what is to be known beside the numbers.

    """

    name: str
    points: tuple[Named, ...]
    sequences: Enumeration
    fast: int = 2
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class PromiseCheck:
    """What people are promised who do several steps in a row: plan and run, label and gate, certify and apply.

    Args:
        name: the workflow, `plan -> run: width`.
        promise: what happens in so many studies, as a sentence goes on: `the interval is as narrow as planned`.
        share: in how many studies it is promised to happen, the same everywhere or by point.
        points: planted truths, not picked for comfort; the first `fast` of them are simulated in the fast version.
        simulate: (point, studies, generator) -> one entry a study: 1 where it happened, 0 where not, NaN where the
            product promises nothing. Studies are independent of each other: everything is drawn anew in each.
        at_least: whether it is to happen at least so often, or at most.
        fast: how many points the fast version takes.
        fast_replicates: studies a point in the fast version.
        full_replicates: studies a point in the full version.
        note: what is to be known beside the numbers.

    """

    name: str
    promise: str
    share: float | Callable[[Point], float]
    points: Points
    simulate: Studies
    at_least: bool
    fast: int = 2
    fast_replicates: int = 400
    full_replicates: int = 4_000
    note: str = ""

    def promised(self, point: Point) -> float:
        """Return in which share of studies it is promised to happen."""
        return self.share(point) if callable(self.share) else self.share


Check: TypeAlias = IntervalCheck | SizeCheck | PowerCheck | AlarmCheck | FailureCheck | PromiseCheck


def point_text(point: Named) -> str:
    """Return `n=50, rate=0.9`."""
    return ", ".join(
        f"{name}={value}" if isinstance(value, str) else f"{name}={value:g}" for name, value in point.items()
    )


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


class Limited(Protocol):
    """An estimate with an interval, or without one."""

    @property
    def low(self) -> float | None:
        """The lower limit."""
        ...

    @property
    def high(self) -> float | None:
        """The upper limit."""
        ...


def interval_of(estimate: Limited | None) -> Interval:
    """Return the interval of an estimate; None where the product gives none."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return None
    return estimate.low, estimate.high


def grid(**values: Sequence[float]) -> Points:
    """Return every combination of values as points, the last name varying fastest."""
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))
