"""All ways in which cases can change places between two runs, and whether more decisions flip than by noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text

from ..aggregation import folds
from ..aggregation.rules import Bound, ByKind, Rule, quorum
from .pairing import (
    Bools,
    CaseOutcomes,
    CaseSamples,
    Exchangeable,
    Floats,
    Pair,
    Side,
    State,
    exchangeable,
    flipped,
    null_distribution,
)

_MOST_SPLITS: Final = 2_000
_ORDERS: Final = 2

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Composition:
    """A case as its rule sees it: labels, and how many samples gave each; the last count is of failures.

    `strata` are (swapped, counts before, counts after); `fixed` counts by side, order and label.
    """

    labels: tuple[Verdict, ...]
    strata: tuple[tuple[bool, tuple[int, ...], tuple[int, ...]], ...]
    fixed: tuple[tuple[tuple[int, ...], ...], ...]
    sides: tuple[Side, Side]

    @property
    def pooled(self) -> Hashable:
        """What all ways to change places have in common."""
        strata = tuple(
            sorted((swapped, tuple(map(sum, zip(a, b, strict=True))), sum(a), sum(b)) for swapped, a, b in self.strata)
        )
        return self.labels, strata, self.fixed, tuple(side.key for side in self.sides)


@dataclass(kw_only=True)
class CountSplits:
    """Outcomes of cases whose sides read nothing of a sample but its verdict and its order.

    `tolerance` is how far scores may move without flipping; None for labels. Cases with more than 2,000 splits are
    permuted instead.
    """

    tolerance: float | None
    permutations: int
    random: np.random.Generator
    _decided: dict[Hashable, State] = field(default_factory=dict)
    _seen: dict[Hashable, tuple[bool, float]] = field(default_factory=dict)
    _known: dict[Hashable, tuple[Bools, Floats, Floats]] = field(default_factory=dict)

    def outcomes(self, case: CaseSamples) -> CaseOutcomes:
        """Return what changing places can do to a case."""
        made = _composition(case)
        flip, distance = self._observed(made)
        splits = math.prod(_number(_pooled(a, b), sum(a)) for _, a, b in made.strata)
        if splits > _MOST_SPLITS:
            drawn = [
                self.random.multivariate_hypergeometric(_pooled(a, b), sum(a), size=self.permutations, method="count")
                for _, a, b in made.strata
            ]
            flips, distances, chances = self._flips(made, drawn), _distances(made, drawn), None
        else:
            if made.pooled not in self._known:
                self._known[made.pooled] = self._enumerated(made)
            flips, distances, chances = self._known[made.pooled]
        return CaseOutcomes(
            case_id=case.case_id,
            flips=flips,
            distances=distances,
            chances=chances,
            flipped=flip,
            distance=distance,
        )

    def _observed(self, made: _Composition) -> tuple[bool, float]:
        """Return what became of the case itself."""
        key = (made.strata, made.pooled)
        if key not in self._seen:
            observed = [np.array([before]) for _, before, _ in made.strata]
            self._seen[key] = bool(self._flips(made, observed)[0]), float(_distances(made, observed)[0])
        return self._seen[key]

    def _enumerated(self, made: _Composition) -> tuple[Bools, Floats, Floats]:
        parts = [_splits(_pooled(a, b), sum(a)) for _, a, b in made.strata]
        places = np.indices([len(chances) for _, chances in parts]).reshape(len(parts), -1)
        chosen = [vectors[place] for (vectors, _), place in zip(parts, places, strict=True)]
        chances = np.prod([chances[place] for (_, chances), place in zip(parts, places, strict=True)], axis=0)
        return self._flips(made, chosen), _distances(made, chosen), chances

    def _flips(self, made: _Composition, chosen: Sequence[Counts]) -> Bools:
        """Return which splits flip the decision; `chosen` has what each stratum gives the first side, by split."""
        first = np.zeros((len(chosen[0]), _ORDERS, len(made.labels) + 1), dtype=np.int64)
        second = first.copy()
        for (swapped, a, b), mine in zip(made.strata, chosen, strict=True):
            first[:, int(swapped)] += mine
            second[:, int(swapped)] += np.array(_pooled(a, b)) - mine
        first += np.array(made.fixed[0])
        second += np.array(made.fixed[1])
        both = np.concatenate([first, second], axis=1).reshape(len(first), -1)
        cells, places = np.unique(both, axis=0, return_inverse=True)
        half = cells.shape[1] // 2
        found = [
            flipped(
                self._state(made.labels, tuple(cell[:half]), made.sides[0]),
                self._state(made.labels, tuple(cell[half:]), made.sides[1]),
                self.tolerance,
            )
            for cell in cells.tolist()
        ]
        return np.array(found, dtype=np.bool_)[places.ravel()]

    def _state(self, labels: tuple[Verdict, ...], counts: tuple[int, ...], side: Side) -> State:
        key = (labels, counts, side.key)
        found = self._decided.get(key)
        if found is None:
            found = self._decided[key] = side.state(list(_rows(labels, counts, side.stratum)))
        return found


def _rows(
    labels: Sequence[Verdict], counts: Sequence[int], columns: Iterable[tuple[str, str | float]]
) -> Iterator[VerdictRow]:
    """Yield rows of these counts and columns: by order of the texts, then by label, failures last."""
    attributes = dict(columns)
    width = len(labels) + 1
    for place, count in enumerate(counts):
        verdict = None if place % width == len(labels) else labels[place % width]
        outcome = "ok" if verdict is not None else "error"
        for _ in range(count):
            yield VerdictRow(
                case_id="",
                verdict=verdict,
                outcome=outcome,  # type: ignore[arg-type]
                swapped=place >= width,
                attributes=attributes,
            )


def _composition(case: CaseSamples) -> _Composition:
    rows = [row for stratum in (*case.strata, case.fixed) for side in stratum for row in side]
    labels = tuple(sorted({row.verdict for row in rows if row.verdict is not None}, key=verdict_text))
    places: dict[Verdict | None, int] = {label: place for place, label in enumerate(labels)} | {None: len(labels)}

    def counted(samples: Sequence[VerdictRow]) -> tuple[int, ...]:
        counts = [0] * len(places)
        for row in samples:
            counts[places[row.verdict]] += 1
        return tuple(counts)

    return _Composition(
        labels=labels,
        strata=tuple((before[0].swapped, counted(before), counted(after)) for before, after in case.strata),
        fixed=tuple(
            tuple(counted([row for row in side if row.swapped is swapped]) for swapped in (False, True))
            for side in case.fixed
        ),
        sides=case.sides,
    )


def _pooled(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(before, after, strict=True))


def _distances(made: _Composition, chosen: Sequence[Counts]) -> Floats:
    """Return how far the two sides' shares lie apart: sum over strata of nm/(n+m) times their squared distance."""
    total = np.zeros(len(chosen[0]))
    for (_, a, b), mine in zip(made.strata, chosen, strict=True):
        n, m = sum(a), sum(b)
        apart = mine / n - (np.array(_pooled(a, b)) - mine) / m
        total += n * m / (n + m) * np.sum(apart * apart, axis=1)
    return total


@lru_cache(maxsize=4096)
def _number(counts: tuple[int, ...], size: int) -> int:
    """Return how many vectors of at most these counts have this sum."""
    ways = [1] + [0] * size
    for count in counts:
        ways = [sum(ways[max(0, total - count) : total + 1]) for total in range(size + 1)]
    return ways[size]


@lru_cache(maxsize=4096)
def _splits(counts: tuple[int, ...], size: int) -> tuple[Counts, Floats]:
    """Return all vectors of at most these counts with this sum, and their multivariate hypergeometric chances."""
    found = list(_vectors(counts, size))
    ways = [math.prod(math.comb(k, a) for k, a in zip(counts, vector, strict=True)) for vector in found]
    total = math.comb(sum(counts), size)
    return np.array(found, dtype=np.int64), np.array([way / total for way in ways])


def _vectors(counts: tuple[int, ...], size: int) -> Iterator[tuple[int, ...]]:
    if len(counts) == 1:
        if size <= counts[0]:
            yield (size,)
        return
    for first in range(min(counts[0], size) + 1):
        for rest in _vectors(counts[1:], size - first):
            yield (first, *rest)


_FEWEST: Final = 199
_DECISIONS: Final = 400_000

_Parts = Sequence[tuple[Sequence[VerdictRow], Sequence[VerdictRow]]]


def affordable(cases: int, permutations: int) -> int:
    """Return how many permutations of so many cases are made: 400,000 decisions, but at least 199 permutations."""
    return min(permutations, max(_FEWEST, _DECISIONS // (2 * max(cases, 1))))


@dataclass(kw_only=True)
class RowSplits:
    """Outcomes of cases, drawn by permuting their rows; each is decided by itself."""

    tolerance: float | None
    permutations: int
    random: np.random.Generator

    def outcomes(self, case: CaseSamples) -> CaseOutcomes:
        """Return what changing places did to a case in so many permutations."""
        seen = self._outcome(case, case.strata)
        drawn = [self._outcome(case, self._exchanged(case)) for _ in range(self.permutations)]
        return CaseOutcomes(
            case_id=case.case_id,
            flips=np.array([flip for flip, _ in drawn], dtype=np.bool_),
            distances=np.array([distance for _, distance in drawn]),
            chances=None,
            flipped=seen[0],
            distance=seen[1],
        )

    def _exchanged(self, case: CaseSamples) -> _Parts:
        parts = []
        for before, after in case.strata:
            rows = (*before, *after)
            order = self.random.permutation(len(rows)).tolist()
            mixed = [rows[place] for place in order]
            parts.append((mixed[: len(before)], mixed[len(before) :]))
        return parts

    def _outcome(self, case: CaseSamples, parts: _Parts) -> tuple[bool, float]:
        states = [
            case.sides[side].state([*(row for part in parts for row in part[side]), *case.fixed[side]])
            for side in (0, 1)
        ]
        return flipped(states[0], states[1], self.tolerance), sum(_distance(*part) for part in parts)


def _distance(before: Sequence[VerdictRow], after: Sequence[VerdictRow]) -> float:
    first, second = (Counter(row.verdict for row in rows) for rows in (before, after))
    n, m = len(before), len(after)
    return n * m / (n + m) * sum((first[verdict] / n - second[verdict] / m) ** 2 for verdict in first | second)


_SCORESPLITS_MOST_SPLITS: Final = 500
_ROUNDING: Final = 1e-9

Places = NDArray[np.int64]
# from how many valid scores to the first and the last one of those whose mean is taken
_Middle = Callable[[Places, Mapping[str, Fraction]], tuple[Places, Places]]


def _trimmed(valid: Places, values: Mapping[str, Fraction]) -> tuple[Places, Places]:
    cut = valid * values["share"].numerator // values["share"].denominator
    return cut, valid - cut


_MIDDLES: Final[Mapping[Callable[..., Any], _Middle]] = {
    folds.mean: lambda valid, _: (np.zeros_like(valid), valid),
    folds.median: lambda valid, _: (np.maximum(valid - 1, 0) // 2, valid // 2 + 1),
    folds.trimmed_mean: _trimmed,
}


def folds_scores(rule: Rule) -> Bound | None:
    """Return the part of a rule that takes a mean of middle scores; None for any other rule."""
    function = rule.function.numbers.function if isinstance(rule.function, ByKind) else rule.function
    return function if isinstance(function, Bound) and function.function in _MIDDLES else None


@dataclass(kw_only=True)
class ScoreSplits:
    """Outcomes of cases of scores under `median`, `mean` and `trimmed_mean`.

    Cases with more than 500 splits are permuted instead.
    """

    tolerance: float
    permutations: int
    random: np.random.Generator

    def outcomes(self, case: CaseSamples) -> CaseOutcomes:
        """Return what changing places can do to a case."""
        sizes = tuple((len(before), len(after)) for before, after in case.strata)
        pooled = [_scores([*before, *after]) for before, after in case.strata]
        identity = [np.arange(n + m)[None] for n, m in sizes]
        if math.prod(math.comb(n + m, n) for n, m in sizes) <= _SCORESPLITS_MOST_SPLITS:
            orders, drawn = _orders(sizes), False
        else:
            drawn = True
            orders = [self.random.permuted(np.tile(one, (self.permutations, 1)), axis=1) for one in identity]
        orders = [np.concatenate(both) for both in zip(identity, orders, strict=True)]  # first, what was observed
        flips, distances = self._outcome(case, pooled, orders, sizes)
        count = len(flips) - 1
        return CaseOutcomes(
            case_id=case.case_id,
            flips=flips[1:],
            distances=distances[1:],
            chances=None if drawn else np.full(count, 1 / count),
            flipped=bool(flips[0]),
            distance=float(distances[0]),
        )

    def _outcome(
        self,
        case: CaseSamples,
        pooled: Sequence[Floats],
        orders: Sequence[Places],
        sizes: Sequence[tuple[int, int]],
    ) -> tuple[Bools, Floats]:
        parts = [
            (scores[order[:, :n]], scores[order[:, n:]])
            for scores, order, (n, _) in zip(pooled, orders, sizes, strict=True)
        ]
        fixed = [np.tile(_scores(side), (len(orders[0]), 1)) for side in case.fixed]
        centers = [
            _centers(np.concatenate([part[side] for part in parts] + [fixed[side]], axis=1), case.sides[side])
            for side in (0, 1)
        ]
        return self._flips(centers, case.sides), _distances_of_scoresplits(parts)

    def _flips(self, centers: Sequence[Floats], sides: Sequence[Side]) -> Bools:
        """Return where one side is graded and the other is not, or the decisions are apart."""
        levels = [pass_at for side in sides if (pass_at := _pass_at(side)) is not None]
        if len(levels) == len(sides):
            first, second = (
                np.where(np.isnan(one), np.nan, one >= level - _ROUNDING)
                for one, level in zip(centers, levels, strict=True)
            )
            allowed = 0.0
        else:
            first, second = centers
            allowed = self.tolerance * (1 + _ROUNDING) + _ROUNDING
        graded = ~np.isnan(first) & ~np.isnan(second)
        apart = np.abs(np.where(graded, first - second, 0.0)) > allowed
        return np.asarray(apart | (np.isnan(first) != np.isnan(second)), dtype=np.bool_)


def _pass_at(side: Side) -> float | None:
    bound = folds_scores(side.rule)
    level = None if bound is None else dict(bound.values).get("pass_at")
    return None if level is None else float(level)


def _scores(rows: Sequence[VerdictRow]) -> Floats:
    return np.array([row.verdict if isinstance(row.verdict, (int, float)) else np.nan for row in rows], dtype=float)


def _centers(scores: Floats, side: Side) -> Floats:
    """Return the number each row of samples comes to; NaN where it is not graded."""
    bound = folds_scores(side.rule)
    valid = np.sum(~np.isnan(scores), axis=1)
    graded = valid >= quorum(side.planned, side.min_valid)
    if bound is None or scores.shape[1] < side.planned or not graded.any():
        return np.full(len(scores), np.nan)
    low, high = _MIDDLES[bound.function](valid, dict(bound.values))
    sums = np.cumsum(np.nan_to_num(np.sort(scores, axis=1)), axis=1)
    sums = np.concatenate([np.zeros((len(scores), 1)), sums], axis=1)
    high = np.clip(high, low + 1, None)  # rows without a score, which are not graded
    rows = np.arange(len(scores))
    centers = (sums[rows, np.minimum(high, scores.shape[1])] - sums[rows, low]) / (high - low)
    return np.where(graded, centers, np.nan)


def _distances_of_scoresplits(parts: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return how far the two sides' means lie apart: sum over strata of nm/(n+m) times their squared distance."""
    total = np.zeros(len(parts[0][0]))
    for before, after in parts:
        n, m = (np.sum(~np.isnan(side), axis=1) for side in (before, after))
        first, second = (np.nansum(side, axis=1) / np.maximum(count, 1) for side, count in ((before, n), (after, m)))
        total += np.where((n > 0) & (m > 0), n * m / np.maximum(n + m, 1) * (first - second) ** 2, 0.0)
    return total


@lru_cache(maxsize=256)
def _orders(sizes: tuple[tuple[int, int], ...]) -> list[Places]:
    """Return all splits of strata of these sizes: of each stratum, the order of its samples, by split."""
    parts = [
        np.array([[*chosen, *(set(range(n + m)) - set(chosen))] for chosen in combinations(range(n + m), n)])
        for n, m in sizes
    ]
    places = np.indices([len(part) for part in parts]).reshape(len(parts), -1)
    return [part[place] for part, place in zip(parts, places, strict=True)]


@dataclass(frozen=True, kw_only=True)
class NoiseTest:
    """Flipped decisions against those that samples changing places between the two runs would give.

    Over `cases` cases with samples that can change places: `observed` flips, `expected` ones with their 95 % range
    (`low`, `high`). `p_count` is the chance of at least as many; `p`, which the report tests, that of flips between
    samples at least as far apart, summed over cases: it also sees a judge that was sure of one answer and is now sure
    of another one. `p_of_case` is the chance, case by case, of a flip at least as decided. `copied` and `collapsed`
    cases are not among `cases`. `reason` says why there is no test; everything else is None then.
    """

    cases: int
    observed: int | None
    expected: float | None
    low: int | None
    high: int | None
    p_count: float | None
    p: float | None
    permutations: int | None
    copied: int = 0
    collapsed: int = 0
    reason: str = ""
    p_of_case: Mapping[str, float] = field(default_factory=dict, repr=False)


def noise_test(pairs: Sequence[Pair], *, tolerance: float | None, seed: int, permutations: int) -> NoiseTest:
    """Test whether decisions flip more than samples of one source would make them.

    Null hypothesis: a case's samples under one perturbation come from the same distribution in both runs. Then they
    may change places; the rule folds them again. Every way to change places is looked at where there are few, and
    drawn with the seed where there are many.

    Args:
        pairs: the cases.
        tolerance: how far a score moves without flipping; None for labels.
        seed: of the permutations.
        permutations: how many; fewer with a caller's own rule or a certificate by a column, which read each sample.

    """
    found = exchangeable(pairs)
    reason = _reason(found, len(pairs))
    if reason:
        return NoiseTest(
            cases=0,
            observed=None,
            expected=None,
            low=None,
            high=None,
            p_count=None,
            p=None,
            permutations=None,
            copied=found.copied,
            collapsed=found.collapsed,
            reason=reason,
        )
    own = any(side.reads_rows for case in found.cases for side in case.sides)
    count = affordable(len(found.cases), permutations) if own else permutations
    outcomes = _outcomes(found.cases, own=own, tolerance=tolerance, seed=seed, count=count)
    return _tested(outcomes, found, seed=seed, permutations=count)


def _reason(found: Exchangeable, pairs: int) -> str:
    """Return why the judge's noise cannot be told; empty where it can."""
    if found.stopped:
        return (
            "sampling stopped early, so that the number of samples depends on the answers: they may not change places; "
            "measure once without curtail"
        )
    if found.cases:
        return ""
    if found.copied == pairs:
        return "both runs hold the same paid answers: nothing was asked twice; run again with --fresh"
    if found.copied + found.collapsed == pairs:
        return "the samples of a case are copies of one another (cache or temperature 0): they show no noise"
    return (
        "one sample a case and run: the judge's own noise cannot be told from a change; ask at least twice "
        "(repetitions: 2)"
    )


def _outcomes(
    cases: Sequence[CaseSamples], *, own: bool, tolerance: float | None, seed: int, count: int
) -> list[CaseOutcomes]:
    random = np.random.default_rng([seed, 1])
    rows = (row for case in cases for stratum in case.strata for side in stratum for row in side)
    numeric = any(isinstance(row.verdict, (int, float)) for row in rows)
    splits: RowSplits | ScoreSplits | CountSplits
    if own:
        splits = RowSplits(tolerance=tolerance, permutations=count, random=random)
    elif numeric and all(folds_scores(side.rule) and side.held is None for case in cases for side in case.sides):
        splits = ScoreSplits(tolerance=tolerance or 0.0, permutations=count, random=random)
    else:
        splits = CountSplits(tolerance=tolerance, permutations=count, random=random)
    return [splits.outcomes(case) for case in cases]


def _tested(outcomes: Sequence[CaseOutcomes], found: Exchangeable, *, seed: int, permutations: int) -> NoiseTest:
    null = null_distribution(outcomes, seed=seed, permutations=permutations)
    flips, evidence = sum(case.flipped for case in outcomes), sum(case.evidence for case in outcomes)
    low, high = np.quantile(null.flips, (0.025, 0.975), method="inverted_cdf")
    margin = _ROUNDING * max(1.0, evidence) * max(1, len(outcomes))
    return NoiseTest(
        cases=len(outcomes),
        observed=flips,
        expected=float(sum(_chance(case) for case in outcomes)),
        low=int(low),
        high=int(high),
        p_count=float((1 + np.sum(null.flips >= flips)) / (1 + permutations)),
        p=float((1 + np.sum(null.evidence >= evidence - margin)) / (1 + permutations)),
        permutations=permutations,
        copied=found.copied,
        collapsed=found.collapsed,
        p_of_case={case.case_id: case.p for case in outcomes if case.flipped},
    )


def _chance(case: CaseOutcomes) -> float:
    return float(case.flips.mean() if case.chances is None else case.chances[case.flips].sum())
