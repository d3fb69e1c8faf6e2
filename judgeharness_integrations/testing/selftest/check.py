"""What a self-test checks: intervals, tests, reports on judges, promises of rules and of whole workflows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from judgeharness_integrations.analysis.statistics.proportions import clopper_pearson

Kind: TypeAlias = Literal["coverage", "size", "power", "false_alarms", "failures", "promises"]
Verdict: TypeAlias = Literal["ok", "conservative", "narrow", "unclear", "miss", "kept", "not told", "broken"]
Point: TypeAlias = Mapping[str, float]
Points: TypeAlias = tuple[Point, ...]
Named: TypeAlias = Mapping[str, "float | str"]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Interval: TypeAlias = "tuple[float, float] | None"
Simulated: TypeAlias = "tuple[Floats, Floats, float]"
Simulation: TypeAlias = "Callable[[Point, int, np.random.Generator], tuple[Floats, Floats, Floats | float]]"
Rejections: TypeAlias = "Callable[[Point, int, np.random.Generator], Floats]"
Reports: TypeAlias = "Callable[[Point, int, np.random.Generator], tuple[Bools, Bools]]"
Alarms: TypeAlias = "Callable[[Point, int, np.random.Generator], Bools]"
Studies: TypeAlias = "Callable[[Point, int, np.random.Generator], Floats]"
Enumeration: TypeAlias = "Callable[[Named], tuple[int, Sequence[str]]]"


LEVEL: Final = (
    0.001  # of one point: a self-test of 50 points whose promises are met exactly errs in 5 % of seeds at most
)
_LUCK: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class PointFound:
    """One planted truth: the share of replicates that covered it (of those with an interval), or that rejected.

    Of a planted fault `rate` is the share of reports that name it and `others` the share that fail another property;
    `declared` says that its power must reach 80 %. Of a judge without a fault `rate` is the share of reports that fail
    something, of a promise about failures the share of sequences that break it, `example` being one. `undefined`
    replicates had no interval or p-value; `rate` is None when all of them had none.

    Of a workflow `rate` is the share of studies in which what is promised happened, with its 95 % interval (`low`,
    `high`) by Monte Carlo error, `promised` the share it is held to, `p` that of the binomial test against it, and
    `verdict` what follows at this point.
    """

    point: Named
    replicates: int
    undefined: int = 0
    rate: float | None
    others: float | None = None
    declared: bool = False
    example: str = ""
    promised: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    verdict: Verdict | None = None

    def __str__(self) -> str:
        """Return the point as `n=20, rate=0.9`."""
        return point_text(self.point)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        kept = ("promised", "low", "high", "p", "verdict") if self.promised is not None else ()
        return {
            "point": dict(self.point),
            "replicates": self.replicates,
            "undefined": self.undefined,
            "rate": self.rate,
            "others": self.others,
            "declared": self.declared,
            **{name: getattr(self, name) for name in kept},
        }


@dataclass(frozen=True, kw_only=True)
class _Check:
    """What every check has.

    Args:
        name: of what is checked.
        points: the declared grid of planted truths; the first `fast` of them are looked at in the fast version.
        fast: how many points the fast version takes.
        fast_replicates: how many replicates, reports or studies a point the fast version takes.
        full_replicates: how many the full version takes.
        note: what is to be known beside the numbers.

    """

    kind: ClassVar[Kind]
    name: str
    points: tuple[Named, ...]
    fast: int = 2
    fast_replicates: int = 400
    full_replicates: int = 4_000
    note: str = ""

    def places(self, *, full: bool) -> range:
        """Return which points are looked at."""
        return range(len(self.points) if full else min(len(self.points), max(1, self.fast)))


@dataclass(frozen=True, kw_only=True)
class IntervalCheck(_Check):
    """A nominal 95 % interval and the truths it is to cover, `calibration: Wilson interval of a rate`.

    Args:
        simulate: (point, replicates, generator) -> (low, high, truth), arrays of one entry a replicate; it draws data
            and calls the product's own function. An interval the product does not give is NaN.
        conservative: it is known to cover more than its nominal 95 %, and documented so.
        narrow: it is published so and kept beside a better one, known to cover less, and documented so.

    """

    kind = "coverage"
    points: Points
    simulate: Simulation
    conservative: bool = False
    narrow: bool = False

    def measured(self, place: int, replicates: int, generator: np.random.Generator) -> PointFound:
        """Return how many of the intervals at a point cover its truth."""
        point = self.points[place]
        low, high, truth = self.simulate(point, replicates, generator)
        undefined = int(np.count_nonzero(np.isnan(low) | np.isnan(high)))
        hits = int(np.count_nonzero((low <= truth) & (truth <= high)))
        tried = replicates - undefined
        return PointFound(point=point, replicates=replicates, undefined=undefined, rate=hits / tried if tried else None)


@dataclass(frozen=True, kw_only=True)
class SizeCheck(_Check):
    """A test at nominal 5 %, and true null hypotheses at the edge of which it is to reject at most that often.

    Args:
        simulate: (point, replicates, generator) -> p-values, one a replicate; NaN where the product gives none, which
            is no rejection.

    """

    kind = "size"
    points: Points
    simulate: Rejections

    def measured(self, place: int, replicates: int, generator: np.random.Generator) -> PointFound:
        """Return how many of the tests at a point reject; what is not tested is not rejected."""
        p_values = self.simulate(self.points[place], replicates, generator)
        undefined = int(np.count_nonzero(np.isnan(p_values)))
        hits = int(np.count_nonzero(p_values <= 0.05))  # noqa: PLR2004 - the nominal level
        rate = hits / replicates if undefined < replicates else None
        return PointFound(point=self.points[place], replicates=replicates, undefined=undefined, rate=rate)


@dataclass(frozen=True, kw_only=True)
class PowerCheck(_Check):
    """A fault planted in a simulated judge, and how often a whole report on that judge names it.

    Args:
        points: strengths of the fault, weakest first; the fast version takes the last `fast` of them, none of a fault
            that is like another one.
        simulate: (point, replicates, generator) -> two arrays of one entry a report: it fails the planted property;
            it fails another one, which is not to happen more often than at the level of the report.
        declared: the last `declared` points are where power must reach 80 %.

    """

    kind = "power"
    points: Points
    simulate: Reports
    declared: int = 1
    fast: int = 1
    fast_replicates: int = 3
    full_replicates: int = 100

    def places(self, *, full: bool) -> range:
        """Return which strengths are looked at: the strongest few in the fast version."""
        last, few = len(self.points), len(super().places(full=full))
        return range(last - few, last)

    def measured(self, place: int, replicates: int, generator: np.random.Generator) -> PointFound:
        """Return how many of the reports at a strength name the fault, and how many fail another property."""
        named, others = self.simulate(self.points[place], replicates, generator)
        return PointFound(
            point=self.points[place],
            replicates=replicates,
            rate=float(named.mean()),
            others=float(others.mean()),
            declared=place >= len(self.points) - self.declared,
        )


@dataclass(frozen=True, kw_only=True)
class AlarmCheck(_Check):
    """A simulated judge without a fault, and how often a whole report on it fails it all the same.

    Args:
        simulate: (point, replicates, generator) -> whether a report fails any property, one entry a report.

    """

    kind = "false_alarms"
    points: Points
    simulate: Alarms
    fast: int = 1
    fast_replicates: int = 8
    full_replicates: int = 400

    def measured(self, place: int, replicates: int, generator: np.random.Generator) -> PointFound:
        """Return how many of the reports on a judge fail it."""
        failed = self.simulate(self.points[place], replicates, generator)
        return PointFound(point=self.points[place], replicates=replicates, rate=float(failed.mean()))


@dataclass(frozen=True, kw_only=True)
class FailureCheck(_Check):
    """A promise of rules about failed samples, looked at for every sequence of outcomes: nothing is drawn.

    Args:
        points: rules and numbers of samples.
        sequences: point -> how many were tried, and a sentence for each that breaks the promise.

    """

    kind = "failures"
    sequences: Enumeration

    def measured(self, place: int, _replicates: int, _generator: np.random.Generator) -> PointFound:
        """Return how many of all sequences break the promise."""
        tried, broken = self.sequences(self.points[place])
        return PointFound(
            point=self.points[place],
            replicates=tried,
            rate=len(broken) / tried if tried else None,
            example=broken[0] if broken else "",
        )


@dataclass(frozen=True, kw_only=True)
class PromiseCheck(_Check):
    """What people are promised who do several steps in a row: plan and run, label and gate, certify and apply.

    Args:
        promise: what happens in so many studies, as a sentence goes on: `the interval is as narrow as planned`.
        share: in how many studies it is promised to happen, the same everywhere or by point.
        points: planted truths, not picked for comfort.
        simulate: (point, studies, generator) -> one entry a study: 1 where it happened, 0 where not, NaN where the
            product promises nothing. Studies are independent of each other: everything is drawn anew in each.
        at_least: whether it is to happen at least so often, or at most.

    """

    kind = "promises"
    promise: str
    share: float | Callable[[Point], float]
    points: Points
    simulate: Studies
    at_least: bool

    def promised(self, point: Point) -> float:
        """Return in which share of studies it is promised to happen."""
        return self.share(point) if callable(self.share) else self.share

    def measured(self, place: int, replicates: int, generator: np.random.Generator) -> PointFound:
        """Return what studies delivered at a point, and whether that is what was promised.

        The test is the exact one-sided binomial test against the promised share. A promise is `broken` where it
        rejects, `kept` where what happened is at least (or at most) as frequent as promised, else `not told`. It is not
        told either where studies are so few that the best they could have shown happens in 5 % of them by luck at the
        promised share.
        """
        point, at_least = self.points[place], self.at_least
        happened, promised = self.simulate(point, replicates, generator), self.promised(point)
        undefined = int(np.count_nonzero(np.isnan(happened)))
        studies, hits = replicates - undefined, int(np.count_nonzero(happened == 1))
        facts: dict[str, Any] = {"point": point, "replicates": replicates, "undefined": undefined, "promised": promised}
        if not studies:
            return PointFound(rate=None, verdict="not told", **facts)
        low, high = clopper_pearson(hits, studies)
        p = _p(hits, studies, promised, at_least=at_least)
        luck = promised**studies if at_least else (1 - promised) ** studies
        verdict: Verdict = "not told"
        if p <= LEVEL:
            verdict = "broken"
        elif luck <= _LUCK and (hits >= promised * studies if at_least else hits <= promised * studies):
            verdict = "kept"
        return PointFound(rate=hits / studies, low=low, high=high, p=p, verdict=verdict, **facts)


def _p(hits: int, studies: int, promised: float, *, at_least: bool) -> float:
    """Return the chance of so few (or so many) where exactly the promised share holds."""
    if at_least:
        return float(bdtr(hits, studies, promised))
    return float(bdtrc(hits - 1, studies, promised)) if hits else 1.0


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


def one_by_one(study: Callable[[Point, np.random.Generator], float]) -> Studies:
    """Return the simulation of many studies of what draws one."""

    def simulate(point: Point, studies: int, generator: np.random.Generator) -> Floats:
        return np.array([study(point, generator) for _ in range(studies)], dtype=np.float64)

    return simulate


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
