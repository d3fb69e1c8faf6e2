"""Where the variance of verdicts is: cases, prompts, orders and sampling; and the best split of a budget over them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, voting

from ..aggregation.grouping import is_numeric
from ..aggregation.statistics import base_perturbation
from ..calibration.items import read_golds
from ..statistics.proportions import holm, sign_test

Codes: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

_FACETS: Final = ("case", "prompt", "order")
_SAMPLING: Final = "sampling"
_ORDERS: Final = 2
_MOST_PROMPTS: Final = 12
_CONDITION: Final = 1e9


@dataclass(frozen=True, kw_only=True)
class Part:
    """One source of variance: facets joined by ` x `, or `sampling`, which holds whatever could not be told apart.

    `variance` is in squared units of the value, and 0 where the estimate came out negative; `share` is that of all.
    """

    source: str
    variance: float
    share: float | None

    @property
    def facets(self) -> frozenset[str]:
        """The facets whose combination it belongs to; sampling belongs to all of them."""
        return frozenset((*_FACETS, _SAMPLING) if self.source == _SAMPLING else self.source.split(" x "))


@dataclass(frozen=True, kw_only=True)
class Split:
    """A number of calls divided, and the standard error of the mean over all samples that it leaves.

    `alone` is that of one prompt, one order and one sample a case on as many calls, where cases suffice.
    """

    cases: int
    prompts: int
    orders: int
    repetitions: int
    calls: int
    error: float
    alone: float | None = None


@dataclass(frozen=True, kw_only=True)
class GStudy:
    """The variance of single verdicts about one criterion, by source, with the numbers of levels that were seen.

    `of` says what varies: `right` (agreement with gold), the share of a label, or the score. `clipped` names sources
    that came out negative and count as 0.
    """

    of: str
    samples: int
    levels: dict[str, int]
    parts: tuple[Part, ...]
    clipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)

    def variance_of_mean(self, *, cases: int, prompts: int, orders: int, repetitions: int) -> float:
        """Return the variance of the mean over so many cases, prompts, orders and samples, all crossed.

        Each source is divided by the number of its levels' combinations (Brennan, Generalizability Theory, 2001, eq.
        4.3). Cases, prompts and samples are taken for random ones; there are no more than two orders, so that both
        leave nothing of what lies between orders (finite universe, ibid. 5.1).
        """
        sizes = {"case": cases, "prompt": prompts, "order": orders, _SAMPLING: repetitions}
        total = 0.0
        for part in self.parts:
            exhausted = orders == _ORDERS and "order" in part.facets and part.source != _SAMPLING
            total += 0.0 if exhausted else part.variance / math.prod(sizes[facet] for facet in part.facets)
        return total

    def best_split(self, calls: int, cases: int | None = None) -> Split | None:
        """Return the split of calls with the smallest error; of equals the one with the most cases. None below two.

        What was not varied is not tried: one prompt, one order, one repetition then.
        """
        found = [split for split in self._splits(calls, cases) if split.cases > 1]
        if not found:
            return None
        best = min(found, key=lambda split: (round(split.error, 12), -split.cases))
        alone = [split for split in found if split.prompts * split.orders * split.repetitions == 1]
        return replace(best, alone=alone[0].error if alone else None)

    def _splits(self, calls: int, cases: int | None) -> Iterator[Split]:
        varied = {facet for facet, levels in self.levels.items() if levels > 1}
        prompts = range(1, _MOST_PROMPTS + 1) if "prompt" in varied else (1,)
        orders = (1, _ORDERS) if "order" in varied else (1,)
        repetitions = (1, 2, 3, 5, 8) if _SAMPLING in varied else (1,)
        for p, o, r in product(prompts, orders, repetitions):
            n = calls // (p * o * r)
            n = n if cases is None else min(n, cases)
            if n:
                error = math.sqrt(self.variance_of_mean(cases=n, prompts=p, orders=o, repetitions=r))
                yield Split(cases=n, prompts=p, orders=o, repetitions=r, calls=n * p * o * r, error=error)


def gstudy(rows: Sequence[VerdictRow], *, positive: str | None = None) -> GStudy | None:
    """Return the variance components of one criterion; None where no case was asked twice.

    Crossed random effects by the method of moments: uncorrected sums of squares are set equal to their expectations,
    with the numbers of samples as they are (Henderson 1953, method 1; Brennan 2001, section 7.1). A source that cannot
    be told from others in this log is left out, and stands in those.

    Args:
        rows: of one criterion. Judges of different names are different prompts, as are perturbations without the swap.
        positive: the label whose share varies; being right where every row has gold. Scores are taken as they are.

    """
    answered = [row for row in voting(rows) if row.ok]
    numeric = bool(is_numeric(answered)) if answered else False
    gold = None if numeric else _read_golds(answered)
    values = np.array([_value(row, numeric=numeric, gold=gold, positive=positive) for row in answered])
    codes = {
        "case": _codes([row.case_id for row in answered]),
        "prompt": _codes([(row.judge, base_perturbation(row)) for row in answered]),
        "order": _codes([row.swapped for row in answered]),
    }
    levels = {facet: int(found.max(initial=-1)) + 1 for facet, found in codes.items()}
    if levels["case"] < 2 or len(values) <= levels["case"]:  # noqa: PLR2004 - nothing varies between fewer
        return None
    cells = _codes(list(zip(*(found.tolist() for found in codes.values()), strict=True)))
    repeats = math.ceil(len(values) / (int(cells.max()) + 1))
    sources = _sources(codes, levels, repeats > 1)
    found, kept = _estimated(values, sources)
    clipped = tuple(name for name, variance in found.items() if variance < 0)
    total = sum(max(0.0, variance) for variance in found.values())
    return GStudy(
        of="score" if numeric else "right" if gold is not None else f"share of {positive}",
        samples=len(values),
        levels=levels | {_SAMPLING: repeats},
        parts=tuple(
            Part(source=name, variance=max(0.0, variance), share=max(0.0, variance) / total if total else None)
            for name, variance in found.items()
        ),
        clipped=clipped,
        notes=tuple(f"{name} cannot be told from the others in this log" for name in sources if name not in kept),
    )


def _read_golds(rows: Sequence[VerdictRow]) -> Mapping[Verdict, Verdict | None] | None:
    """Return how gold labels are read where every row has one that can be; None where not."""
    golds = {row.gold for row in rows if row.gold is not None}
    found = read_golds(golds, {row.verdict for row in rows if row.verdict is not None})
    return None if None in found.values() or any(row.gold is None for row in rows) else found


def _value(
    row: VerdictRow, *, numeric: bool, gold: Mapping[Verdict, Verdict | None] | None, positive: str | None
) -> float:
    if numeric:
        return float(row.verdict)  # type: ignore[arg-type]  # a number
    return float(row.verdict == (positive if gold is None or row.gold is None else gold[row.gold]))


def _codes(keys: Sequence[object]) -> Codes:
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    return np.array([places[key] for key in keys], dtype=np.int64)


def _sources(codes: dict[str, Codes], levels: dict[str, int], repeated: bool) -> dict[str, Codes]:  # noqa: FBT001
    """Return the sources there may be, simple ones first: facets with several levels and their combinations."""
    varied = [facet for facet in _FACETS if levels[facet] > 1]
    found = {}
    for size in range(1, len(varied) + 1):
        for facets in combinations(varied, size):
            if size < len(varied) or repeated:  # without repeats the last one is sampling itself
                keys = list(zip(*(codes[facet].tolist() for facet in facets), strict=True))
                found[" x ".join(facets)] = _codes(keys)
    return found


def _estimated(values: Floats, sources: dict[str, Codes]) -> tuple[dict[str, float], set[str]]:
    """Return the variance of each source that can be estimated, and of sampling."""
    kept: dict[str, Codes] = {}
    solved: Floats = np.zeros(0)
    for name in (None, *sources):
        tried = kept if name is None else kept | {name: sources[name]}
        matrix, sums = _equations(values, tried)
        scale = np.abs(matrix).max(axis=0)
        if name is None or np.linalg.cond(matrix / scale) < _CONDITION:
            kept, solved = tried, np.asarray(np.linalg.solve(matrix, sums), dtype=np.float64)
    return dict(zip((*kept, _SAMPLING), solved[1:].tolist(), strict=True)), set(kept)


def _equations(values: Floats, sources: dict[str, Codes]) -> tuple[Floats, Floats]:
    """Return the expectations of sums of squares as a matrix over (mean squared, sources, sampling), and the sums.

    The sum over the levels of a source of (number of samples) (mean squared) holds a source's variance as often as the
    squares of the numbers of samples that both have in common, divided by the level's own.
    """
    count = len(values)
    effects = [np.zeros(count, dtype=np.int64), *sources.values(), np.arange(count)]
    matrix = np.array([[_common(one, other) for other in effects] for one in effects])
    sums = np.array([float(np.sum(np.bincount(one, values) ** 2 / np.bincount(one))) for one in effects])
    return matrix, sums


def _common(one: Codes, other: Codes) -> float:
    pairs, counts = np.unique(one * (int(other.max()) + 1) + other, return_counts=True)
    return float(np.sum(counts**2 / np.bincount(one)[pairs // (int(other.max()) + 1)]))


@dataclass(frozen=True, kw_only=True)
class Components:
    """Variances in squared units of the score, or of the 0/1 indicator of a label.

    `cases`: between cases; `perturbations`: between perturbations of a case; `repetitions`: between repetitions under
    a perturbation. None was not measured; it stands in one of the others, as `notes` say. `repeated`: repetitions were
    measured; `split`: they or perturbations were.
    """

    cases: float
    perturbations: float | None = 0.0
    repetitions: float | None = 0.0
    notes: tuple[str, ...] = field(default=(), compare=False)
    split: bool = field(init=False)
    repeated: bool = field(init=False)

    def __post_init__(self) -> None:
        """Refuse what is no variance."""
        for part in (self.cases, self.perturbations, self.repetitions):
            if part is not None and not (math.isfinite(part) and part >= 0):
                raise UsageError(f"a variance is a number of at least 0, not {part:g}.")
        object.__setattr__(self, "repeated", self.repetitions is not None)
        object.__setattr__(self, "split", self.repeated or self.perturbations is not None)

    @property
    def inside(self) -> float:
        """What is known of the variance of a single sample within a case."""
        return (self.perturbations or 0.0) + (self.repetitions or 0.0)

    @property
    def total(self) -> float:
        """The variance of a single sample of a single case."""
        return self.cases + self.inside

    def of_samples(self, *, perturbations: int, repetitions: int) -> float:
        """Return the variance that the samples of a case leave in its mean: what repetitions and perturbations buy.

        Raises:
            UsageError: perturbations or repetitions are below 1.

        """
        for name, value in (("perturbations", perturbations), ("repetitions", repetitions)):
            if value < 1:
                raise UsageError(f"{name} must be a whole number of at least 1, not {value}.")
        return ((self.perturbations or 0.0) + (self.repetitions or 0.0) / repetitions) / perturbations

    @classmethod
    def of_rate(cls, rate: float) -> Components:
        """Return the components of a share of which no more is known: none of its variance is told apart."""
        assumed = f"no pilot: a rate of {rate:g} is assumed"
        unknown = "what repetitions and perturbations buy takes a pilot: a log of some cases, each asked several times"
        return cls(cases=rate * (1 - rate), perturbations=None, repetitions=None, notes=(assumed, unknown))


_ALPHA: Final = 0.05
_PLAIN: Final = "none"

Means = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, kw_only=True)
class Shift:
    """A perturbation under which the mean is `shifted` where it is `mean` under `reference`, over the same `cases`.

    `p` is that of an exact sign test over the cases whose own means differ, adjusted for the number of perturbations
    (Holm 1979). `swap`: it exchanges two answers, so that averaging over both orders is what balances the effect.
    """

    perturbation: str
    reference: str
    mean: float
    shifted: float
    cases: int
    p: float
    swap: bool = False


def shifts_of(means: Means, *, swaps: Collection[str] = ()) -> tuple[Shift, ...]:
    """Return the perturbations whose effect on the mean is significant at 5 %, in order of names.

    Args:
        means: case -> perturbation -> mean over repetitions; cases without the reference count for nothing. The
            reference is `none`, or the first name where there is none.
        swaps: the perturbations that exchange two answers.

    """
    names = sorted({name for said in means.values() for name in said}, key=lambda name: (name != _PLAIN, name))
    if not names:
        return ()
    reference, *others = names
    found = [_shift(means, name, reference) for name in others]
    tested = [replace(one, swap=one.perturbation in swaps) for one in found if one is not None]
    adjusted = holm([one.p for one in tested])
    return tuple(replace(one, p=p) for one, p in zip(tested, adjusted, strict=True) if p <= _ALPHA)


def _shift(means: Means, name: str, reference: str) -> Shift | None:
    pairs = [(said[reference], said[name]) for said in means.values() if reference in said and name in said]
    p = sign_test(sum(there > here for here, there in pairs), sum(there < here for here, there in pairs))
    if p is None:
        return None
    return Shift(
        perturbation=name,
        reference=reference,
        mean=_mean([here for here, _ in pairs]),
        shifted=_mean([there for _, there in pairs]),
        cases=len(pairs),
        p=p,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
