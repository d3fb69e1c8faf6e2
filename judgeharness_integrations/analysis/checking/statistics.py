"""The tests behind a check, and what it comes to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, ndtr, ndtri

from ..calibration.controls import Controls
from ..statistics import POWER
from ..statistics.paired import MOST_ITEMS, bisected, fewest, last, mcnemar_detectable, mcnemar_items, tango_interval
from ..statistics.proportions import clopper_pearson

__all__ = [
    "cases_to_settle_above",
    "cases_to_settle_excess",
    "cases_to_settle_lean",
    "difference_interval",
    "excess_interval",
    "excess_test",
    "hypergeometric",
    "smallest_above",
    "smallest_excess",
    "smallest_lean",
]

_NEGLIGIBLE: Final = 1e-200


_ROUNDING: Final = 1e-9


_Spread: TypeAlias = "tuple[int, NDArray[np.float64]]"  # the smallest value, and the chances of it and those above


def excess_test(changed: ArrayLike, probed: ArrayLike, base_changed: ArrayLike, base: ArrayLike) -> float:
    """Return the exact one-sided p-value of "under the change, samples differ from the base verdict more often".

    One stratum is one case (and order). Given its base sample, all its further samples are exchangeable if the change
    does nothing, so that of its differing samples a hypergeometric number falls on those under the change; p is the
    chance that the sum over strata is at least what was seen. With one sample of each kind it is McNemar's exact test.

    Args:
        changed: (n,) samples under the change that differ from the stratum's base verdict.
        probed: (n,) samples under the change.
        base_changed: (n,) further samples of the case as it is that differ from the base verdict.
        base: (n,) further samples of the case as it is, besides the base sample.

    Returns:
        The p-value; 1.0 where no stratum is informative: it lacks one kind of sample, or all or none of them differ.

    """
    hits, first, base_hits, second = (np.asarray(one, np.int64) for one in (changed, probed, base_changed, base))
    total = hits + base_hits
    informative = (first > 0) & (second > 0) & (total > 0) & (total < first + second)
    if not informative.any():
        return 1.0
    kinds, numbers = np.unique(np.column_stack((total, first, second))[informative], axis=0, return_counts=True)
    summed: _Spread = 0, np.ones(1)
    for (differing, under, as_it_is), number in zip(kinds.tolist(), numbers.tolist(), strict=True):
        summed = _joined(summed, _repeated(hypergeometric(differing, under, as_it_is), number))
    start, chances = summed
    return min(1.0, float(chances[max(0, int(hits[informative].sum()) - start) :].sum()))


def hypergeometric(differing: int, probed: int, base: int) -> _Spread:
    """Return how many of the `differing` samples are among the `probed`, if they fall on all alike."""
    low, high = max(0, differing - base), min(differing, probed)
    ways = math.comb(probed + base, differing)
    parts = [math.comb(probed, k) * math.comb(base, differing - k) / ways for k in range(low, high + 1)]
    return low, np.array(parts, dtype=np.float64)


def _joined(one: _Spread, other: _Spread) -> _Spread:
    """Return the sum of two independent counts, without the ends that have next to no chance."""
    chances = np.convolve(one[1], other[1]).astype(np.float64, copy=False)
    kept = np.flatnonzero(chances > _NEGLIGIBLE)
    return one[0] + other[0] + int(kept[0]), chances[kept[0] : kept[-1] + 1]


def _repeated(one: _Spread, times: int) -> _Spread:
    """Return the sum of `times` such counts, by squaring."""
    summed: _Spread = 0, np.ones(1)
    while times:
        if times % 2:
            summed = _joined(summed, one)
        times //= 2
        one = _joined(one, one) if times else one
    return summed


def excess_interval(
    probe_shares: ArrayLike, base_shares: ArrayLike, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the interval of the mean difference of two shares of each case.

    Args:
        probe_shares: (n,) share of the case's samples under the change that differ from its base verdict.
        base_shares: (n,) that share among its further samples without the change.
        confidence: of the interval.

    Returns:
        The ends, within -1 and 1; both of them without cases.

    """
    differences = np.asarray(probe_shares, np.float64) - np.asarray(base_shares, np.float64)
    n = len(differences)
    if not n:
        return -1.0, 1.0
    gained, lost = float(differences.clip(min=0).sum()), float(-differences.clip(max=0).sum())
    return difference_interval(gained, lost, float(np.square(differences).sum()), n, confidence=confidence)


def difference_interval(
    gained: float, lost: float, squares: float, n: int, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Return Tango's score interval of a mean difference, also of differences that are fractions.

    Of differences of -1, 0 and 1 it is Tango's own. Fractions vary less, as if there were more cases: n is raised by
    the ratio of the variance of whole differences with these sums to the variance there is, one whole difference
    added to both, as a few fractions alike are no proof of a small variance.

    Args:
        gained: sum of the positive differences.
        lost: sum of the negative ones, without their sign.
        squares: sum of all squared differences.
        n: cases, at least one.
        confidence: of the interval.

    """
    off = 1 - (gained - lost) ** 2 / n
    more = (gained + lost + off) / (squares + off)
    return tango_interval(gained * more, lost * more, n * more, confidence=confidence)


_FEW: Final = 64


_DRAWS: Final = 500


_TINY: Final = 1e-30


_SEED: Final = 20_260


_fewest = partial(fewest, most=MOST_ITEMS)


_STEPS: Final = 14


_LIKELY: Final = float(ndtri(POWER))


@dataclass(frozen=True, kw_only=True)
class _Differences:
    """Expected differences of one case between its shares under the change and without it."""

    gained: float
    lost: float
    squares: float

    def likely_end(self, cases: int) -> float:
        """Return what the upper end of the interval does not exceed, with a chance of .8."""
        spread = math.sqrt(max(0.0, self.squares - (self.gained - self.lost) ** 2) / cases)
        unlucky = max(0.0, min(_LIKELY * spread, 1 - self.gained - self.lost))
        gained, squares = (self.gained + unlucky) * cases, (self.squares + unlucky) * cases
        return difference_interval(gained, self.lost * cases, squares, cases)[1]


@dataclass(frozen=True, kw_only=True)
class _Design:
    """Samples of one case: `probed` under the change, `base` as it is; `noise` is how often the latter differ."""

    noise: float
    probed: int
    base: int

    def cells(self, effect: float) -> NDArray[np.float64]:
        """Return (probed + 1, base + 1) chances of so many differing samples.

        The change works on a share of the cases, always, and does nothing to the others.
        """
        works = min(1.0, max(0.0, effect) / max(1 - self.noise, _TINY))
        under = (1 - works) * _binomial(self.probed, self.noise)
        under[-1] += works
        return under[:, None] * _binomial(self.base, self.noise)

    def differences(self, effect: float) -> _Differences:
        """Return what the differences of shares are expected to be."""
        shares = np.subtract.outer(np.arange(self.probed + 1) / self.probed, np.arange(self.base + 1) / self.base)
        cells = self.cells(effect)
        gained, lost, squares = (
            float((cells * part).sum()) for part in (shares.clip(min=0), -shares.clip(max=0), shares**2)
        )
        fewer = max(0.0, -effect)
        return _Differences(gained=gained, lost=lost + fewer, squares=squares + fewer)


def _binomial(n: int, share: float) -> NDArray[np.float64]:
    """Return the chances of 0 to n: of so few samples exact, which `counts.binomial` is to 14 digits."""
    parts = [math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)]
    return np.array(parts, dtype=np.float64)


def smallest_excess(n: int, *, noise: float, probed: int, base: int, alpha: float) -> float | None:
    """Return the smallest true excess that `excess_test` finds with a power of .8; None if none is.

    Args:
        n: strata.
        noise: how often a sample of the case as it is differs from the base verdict.
        probed: samples under the change of each stratum.
        base: further samples of each stratum as it is.
        alpha: level of the test.

    """
    design = _Design(noise=noise, probed=probed, base=base)
    low, high = 0.0, 1 - noise
    if min(n, probed, base) < 1 or _excess_power(n, high, design=design, alpha=alpha) < POWER:
        return None
    return bisected(
        lambda effect: _excess_power(n, effect, design=design, alpha=alpha) < POWER, low, high, steps=_STEPS
    )[1]


@lru_cache(maxsize=4096)  # the probes of a report are often of as many cases, beside the same repetitions
def _excess_power(n: int, effect: float, *, design: _Design, alpha: float) -> float:
    """Return how often `excess_test` rejects: drawn where little is informative, else by normal approximation."""
    cells = design.cells(effect)
    few = n * (1 - cells[0, 0] - cells[-1, -1]) <= _FEW and cells.size <= _FEW
    return _drawn_power(n, cells, alpha) if few else _normal_power(n, cells, alpha)


def _normal_power(n: int, cells: NDArray[np.float64], alpha: float) -> float:
    """Compare what falls on the changed samples with what is expected of it, given the stratum's total."""
    probed, base = cells.shape[0] - 1, cells.shape[1] - 1
    size = probed + base
    first, second = np.arange(probed + 1)[:, None], np.arange(base + 1)[None, :]
    beyond, total = (base * first - probed * second) / size, first + second
    mean = float((cells * beyond).sum())
    spread = float((cells * beyond**2).sum()) - mean**2
    still = float((cells * total * (size - total)).sum()) * probed * base / (size**2 * (size - 1))
    distance = n * mean - 0.5 + float(ndtri(alpha)) * math.sqrt(n * still)
    return float(ndtr(distance / math.sqrt(n * max(spread, _TINY))))


def _drawn_power(n: int, cells: NDArray[np.float64], alpha: float) -> float:
    """Draw strata, and take the exact p-value of each draw from the transform of its null distribution."""
    probed, base = cells.shape[0] - 1, cells.shape[1] - 1
    first, second = (places.ravel() for places in np.indices(cells.shape))
    total = first + second
    drawn = np.random.default_rng(_SEED).multinomial(n, cells.ravel() / cells.sum(), size=_DRAWS)
    kinds = np.arange(1, probed + base)
    numbers = drawn @ (total[:, None] == kinds)
    seen = drawn @ np.where((total > 0) & (total < probed + base), first, 0)
    length = (int(numbers.sum(axis=1).max()) + 1) * probed + 1
    transforms = np.stack([_transform(int(kind), probed, base, length) for kind in kinds])
    chances = np.fft.ifft(np.exp(numbers @ np.log(transforms)), axis=1).real
    above = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1]
    return float((above[np.arange(_DRAWS), seen] <= alpha * (1 + _ROUNDING)).mean())


def _transform(kind: int, probed: int, base: int, length: int) -> NDArray[np.complex128]:
    """Return the Fourier transform of one stratum's null distribution, as long as the sum over the strata needs."""
    start, chances = hypergeometric(kind, probed, base)
    spread = np.zeros(length)
    spread[start : start + len(chances)] = chances
    transform: NDArray[np.complex128] = np.fft.fft(spread)
    transform[np.abs(transform) < _TINY] = _TINY  # its logarithm is taken
    return transform


def smallest_above(n: int, share: float, *, alpha: float) -> float | None:
    """Return the smallest true share that `above_test` tells from `share` with a power of .8; None if none is."""
    least = 1 + last(lambda hits: betainc(hits, n - hits + 1, share) > alpha, 0, n + 1)
    return float(betaincinv(least, n - least + 1, POWER)) if least <= n else None


def smallest_lean(n: int, noise: float, *, alpha: float) -> float | None:
    """Return the smallest net lean that the exact two-sided McNemar test finds with a power of .8; None if none is.

    Args:
        n: cases seen in both orders.
        noise: share of cases whose verdict hangs on the order all the same, half of them in each direction.
        alpha: level of the test.

    """
    return mcnemar_detectable(n, exchange=noise / 2, alpha=alpha) if n else None


def cases_to_settle_excess(
    n: int, *, effect: float, noise: float, probed: int, base: int, tolerance: float, alpha: float
) -> int | None:
    """Return how many more cases settle an excess with a power of .8, if it is what was estimated.

    Settled is what `excess_interval` puts within the tolerance, or what `excess_test` finds: whichever takes fewer.

    Args:
        n: strata so far.
        effect: estimated excess.
        noise: how often a sample of the case as it is differs from the base verdict.
        probed: samples under the change of each stratum.
        base: further samples of each stratum as it is.
        tolerance: largest excess that passes.
        alpha: level of the test.

    Returns:
        At least one; None where neither happens within 100,000 cases, or one kind of sample is missing.

    """
    if min(probed, base) < 1:
        return None
    design = _Design(noise=noise, probed=probed, base=base)
    passes = fails = None
    if effect < tolerance:
        expected = design.differences(effect)
        passes = _fewest(lambda cases: expected.likely_end(cases) <= tolerance)
    if effect > 0:
        fails = _fewest(lambda cases: _excess_power(cases, effect, design=design, alpha=alpha) >= POWER)
    return _missing(n, passes, fails)


def cases_to_settle_above(n: int, *, rate: float, share: float, alpha: float) -> int | None:
    """Return how many more cases settle on which side of `share` a rate is, with a power of .8, if it is as estimated.

    Args:
        n: cases so far.
        rate: estimated rate: below `share`, its interval is to end there; above, `above_test` is to find it.
        share: the limit.
        alpha: level of the test.

    Returns:
        At least one; None where 100,000 cases are too few.

    """
    if rate < share:
        return _missing(n, _fewest(lambda cases: _likely_end(cases, rate) <= share))
    return _missing(n, _fewest(lambda cases: (smallest_above(cases, share, alpha=alpha) or math.inf) <= rate))


def _likely_end(cases: int, rate: float) -> float:
    """Return what the upper end of a rate's interval does not exceed, with a chance of .8."""
    unlucky = min(1.0, rate + _LIKELY * math.sqrt(rate * (1 - rate) / cases))
    return clopper_pearson(unlucky * cases, cases)[1]


def cases_to_settle_lean(n: int, *, first: float, second: float, tolerance: float, alpha: float) -> int | None:
    """Return how many more cases settle a lean to one slot with a power of .8, if it is what was estimated.

    Args:
        n: cases seen in both orders so far.
        first: of them, those where the first slot won in both orders.
        second: those where the second did.
        tolerance: largest net lean, to either side, that passes.
        alpha: level of the exact two-sided McNemar test.

    Returns:
        At least one; None where 100,000 cases are too few, or there are none yet.

    """
    if not n:
        return None
    most, least = max(first, second) / n, min(first, second) / n
    expected = _Differences(gained=most, lost=least, squares=most + least)
    passes = fails = None
    if most - least < tolerance:
        passes = _fewest(lambda cases: expected.likely_end(cases) <= tolerance)
    if most > least:
        fails = mcnemar_items(most - least, exchange=least, alpha=alpha)
    return _missing(n, passes, fails)


def _missing(n: int, *wanted: int | None) -> int | None:
    """Return how many cases are missing to the fewest that settle it, at least one; None where nothing does."""
    found = [cases for cases in wanted if cases is not None]
    return max(1, min(found) - n) if found else None


Status: TypeAlias = Literal["pass", "fail", "inconclusive", "not_checked"]
Interval: TypeAlias = "tuple[float, float] | None"


@dataclass(frozen=True, kw_only=True)
class WorstCase:
    """A case that speaks against the judge: `before` is what it said of the case as it is, `after` when changed.

    `shown` is the changed text as the judge was shown it, cut around the change; None where it is not known: of a log,
    where texts are not kept, and where nothing but the order changed. `changed` are the parts of it, from and to a
    character, that the change brought in.
    """

    case_id: str
    before: str
    after: str
    perturbation: str
    raw: str | None = None
    shown: str | None = None
    changed: tuple[tuple[int, int], ...] = ()

    @property
    def pieces(self) -> tuple[tuple[str, bool], ...]:
        """`shown` in pieces, each with whether the change brought it in; none where it is not known."""
        text, found, last = self.shown or "", list[tuple[str, bool]](), 0
        for start, end in (*self.changed, (len(text), len(text))):
            found += [(text[last:start], False), (text[start:end], True)]
            last = end
        return tuple(piece for piece in found if piece[0])


@dataclass(frozen=True, kw_only=True)
class PropertyCheck:
    """One property of a judge about one criterion.

    `hits` counts the cases with what the property forbids (a flip, a lean, an unread answer), None where some show it
    in a part of their samples only. `rate` is their share of `cases`, each by its share of samples, `interval` its
    exact one at 95 %; `baseline` is the same share under repetition alone, where there is one. `effect` is what is to
    be small: `rate - baseline`, of `position` the net lean to the first slot where that is the louder one;
    `effect_interval` its 95 % interval. `p_value` is of the hypothesis that there is no effect (of a rate without a
    baseline: that it is not above `tolerance`), `adjusted_p` after Holm over all properties of the report.
    `smallest_effect` is the smallest true effect that a test at this report's strictest level would have found with
    80 % power. `asked` and `valid` count samples. What was not measured is None. `more_cases` and `more_calls` are what
    would settle an `inconclusive`, None where nothing foreseeable does.
    """

    name: str
    criterion: str
    status: Status
    reason: str
    tolerance: float | None = None
    cases: int = 0
    asked: int = 0
    valid: int = 0
    hits: float | None = None
    rate: float | None = None
    interval: Interval = None
    baseline: float | None = None
    baseline_cases: int = 0
    effect: float | None = None
    effect_interval: Interval = None
    p_value: float | None = None
    adjusted_p: float | None = None
    smallest_effect: float | None = None
    more_cases: int | None = None
    more_calls: int | None = None
    worst: tuple[WorstCase, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """The conformance report of one judge.

    `alpha` is the chance of at most one false `fail` in the whole report, `tolerance` the largest effect that passes.
    `facts` are what stands beside the properties and has no status: per criterion `consistency` (position consistency
    where both orders were shown, else agreement of repetitions: `consistency_of`, over `consistency_cases`) and, with
    gold labels, `right_of_labelled` with `right_of_labelled_interval` over `labelled_cases` and `controls`. `outcomes`
    counts all samples; `notes` are sentences about this log.
    """

    judge: str
    properties: tuple[PropertyCheck, ...]
    alpha: float
    tolerance: float
    cases: int
    calls: int
    outcomes: Mapping[str, int]
    judge_model: str | None = None
    facts: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the properties that fail for some criterion."""
        return tuple(dict.fromkeys(one.name for one in self.properties if one.status == "fail"))

    @property
    def counts(self) -> dict[Status, int]:
        """How many properties have each status."""
        found = Counter(one.status for one in self.properties)
        return {status: found[status] for status in ("pass", "fail", "inconclusive", "not_checked")}

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it (`judgeharness.check/1`)."""
        return {
            "schema": "judgeharness.check/1",
            "judge": self.judge,
            "judge_model": self.judge_model,
            "alpha": self.alpha,
            "tolerance": self.tolerance,
            "cases": self.cases,
            "calls": self.calls,
            "outcomes": dict(self.outcomes),
            "counts": self.counts,
            "failed": list(self.failed),
            "facts": [{name: _plain(value) for name, value in fact.items()} for fact in self.facts],
            "properties": [one.to_dict() for one in self.properties],
            "notes": list(self.notes),
        }


def _plain(value: Any) -> Any:
    return value.to_dict() if isinstance(value, Controls) else value
