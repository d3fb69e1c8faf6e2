"""Statistics of the samples of a case: consistency, independence, where their spread comes from, and position bias."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import mul
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from judgeharness_integrations.verdictlog.row import EXCHANGED, CaseKey, Verdict, VerdictRow, voting

from ..statistics.proportions import sign_test
from .grouping import Cluster, Clusters

_LARGEST_N: Final = 200
_PAIR: Final = 2
_NEGLIGIBLE: Final = 1e-17


def modal_share(distribution: Mapping[Verdict, int]) -> float | None:
    """Return the share of the most frequent verdict among valid samples; None without any."""
    total = sum(distribution.values())
    return max(distribution.values()) / total if total else None


def agreement(distribution: Mapping[Verdict, int]) -> float | None:
    """Return the share of agreeing pairs of samples, sum k(k-1) / (N(N-1)); unbiased. None below two samples."""
    total = sum(distribution.values())
    if total < _PAIR:
        return None
    return sum(count * (count - 1) for count in distribution.values()) / (total * (total - 1))


@lru_cache(maxsize=1024)
def chance_consistency(samples: int, labels: int) -> float | None:
    """Return the expected modal share of a judge that picks one of `labels` uniformly at random.

    E[max] / N = sum_{m<N} P(max > m) / N over a multinomial; None for N = 0 and beyond 200 samples.
    """
    if not 0 < samples <= _LARGEST_N or labels < 1:
        return None
    least = -(-samples // labels)  # some label is drawn at least that often
    expected = float(least)
    for most in range(least, samples):
        above = _some_above(samples, labels, most)
        if above < _NEGLIGIBLE:
            break
        expected += above
    return expected / samples


def _some_above(samples: int, labels: int, most: int) -> float:
    """Return P(some label is drawn more than `most` times)."""
    if 2 * (most + 1) > samples:  # then it is one label alone
        return labels * math.fsum(_binomial(samples, 1, labels)[samples][most + 1 :])
    return 1 - _none_above(samples, labels, most)[samples]


def _none_above(samples: int, labels: int, most: int) -> list[float]:
    """Return P(no label is drawn more than `most` times) for 0 .. `samples` draws, joining two groups of labels."""
    if labels == 1:
        return [1.0] * (most + 1) + [0.0] * (samples - most)
    part = labels // 2 if labels % 2 == 0 else labels - 1
    first = _none_above(samples, part, most)
    second = first if 2 * part == labels else _none_above(samples, labels - part, most)
    draws = _binomial(samples, part, labels)
    return [math.fsum(map(mul, map(mul, row, first), second[len(row) - 1 :: -1])) for row in draws]


@lru_cache(maxsize=16)
def _binomial(samples: int, part: int, labels: int) -> list[list[float]]:
    """Return, for n = 0 .. `samples` draws, the chances that 0 .. n of them fall on `part` of the labels."""
    share = part / labels
    return [[math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)] for n in range(samples + 1)]


def within(score: float, other: float, tolerance: float) -> bool:
    """Whether two scores lie within a tolerance, rounding forgiven: 0.7 and 0.8 are one tenth apart."""
    return abs(score - other) <= tolerance * (1 + 1e-9) + 1e-12


def distance_share(scores: Iterable[float], center: float, tolerance: float) -> float | None:
    """Return the share of scores within `tolerance` of `center`; None without scores."""
    near = [within(score, center, tolerance) for score in scores]
    return sum(near) / len(near) if near else None


def pair_disagreement(
    first: Mapping[Verdict, int], second: Mapping[Verdict, int], *, tolerance: float | None = None
) -> float | None:
    """Return the share of pairs (one sample of each) whose verdicts differ; None when either is empty.

    With a `tolerance`, scores differ when they lie farther apart than that.
    """
    pairs = sum(first.values()) * sum(second.values())
    if not pairs:
        return None
    differing = sum(
        count * other_count
        for verdict, count in first.items()
        for other, other_count in second.items()
        if verdict != other and not _close(verdict, other, tolerance)
    )
    return differing / pairs


def _close(verdict: Verdict, other: Verdict, tolerance: float | None) -> bool:
    if tolerance is None or not isinstance(verdict, (int, float)) or not isinstance(other, (int, float)):
        return False
    return within(verdict, other, tolerance)


SampleStatus: TypeAlias = Literal["independent", "collapsed", "cannot tell", "not repeated"]
_IDS = frozenset({"response_id", "cached"})
_LONG_TEXT = 200  # characters: two independent answers of this length do not coincide by chance


@dataclass(frozen=True, kw_only=True)
class Independence:
    """Whether samples under one perturbation are copies of each other.

    `effective` counts the valid samples without proven copies; `evidence` says what proved them.
    """

    status: SampleStatus
    effective: int
    evidence: tuple[str, ...] = ()


def independence(rows: Iterable[VerdictRow], *, temperature: float | None = None) -> Independence:
    """Look for evidence of collapse among the valid samples of one case and criterion.

    Evidence is a cache hit, a repeated response id of the same answer, an identical text of 200 characters or more,
    identical probabilities, or identical answers at temperature 0. Identical short texts prove nothing: `cannot tell`;
    nor does an id that different answers share.
    """
    groups: dict[str, list[VerdictRow]] = {}
    for row in rows:
        if row.verdict is not None:
            groups.setdefault(row.perturbation, []).append(row)
    return independence_of(groups.values(), temperature=temperature)


def independence_of(groups: Collection[Sequence[VerdictRow]], *, temperature: float | None = None) -> Independence:
    """Look for evidence of collapse among valid samples that are grouped by perturbation; see `independence`."""
    repeated = [group for group in groups if len(group) > 1]
    valid = sum(map(len, groups))
    if not repeated:
        return Independence(status="not repeated", effective=valid)
    copies = [reason for group in repeated for reason in _copies(group, temperature)]
    if copies:
        evidence = tuple(sorted(set(copies)))
        return Independence(status="collapsed", effective=valid - len(copies), evidence=evidence)
    known = all(len({_text(row) for row in group} - {None}) > 1 for group in repeated)
    return Independence(status="independent" if known else "cannot tell", effective=valid)


def response_of(row: VerdictRow) -> tuple[object, object] | None:
    """Return what only copies of one response share: its id and its text, or the verdict where no text was kept.

    None without an id. An id alone proves nothing: some servers give every response the same one.
    """
    response = row.attributes.get("response_id")
    if response is None:
        return None
    text = _text(row)
    return response, row.verdict if text is None else text


def _text(row: VerdictRow) -> str | None:
    if row.probabilities is not None:
        return repr(sorted(row.probabilities.items()))
    return row.raw if row.raw is not None else row.reasoning


def _copies(group: Sequence[VerdictRow], temperature: float | None) -> Iterator[str]:
    """Yield why a sample is a copy of another one of the group, for each that is, in whatever order the group came."""
    if temperature != 0 and not any(map(_tells, group)):
        return
    first, *others = sorted(group, key=_age)
    seen_responses, seen_texts = {response_of(first)}, {_text(first)}
    frozen = temperature == 0 and all((_text(row), row.verdict) == (_text(first), first.verdict) for row in others)
    for row in others:
        response, text = response_of(row), _text(row)
        if row.attributes.get("cached") == "shared":
            yield "cache hit"
        elif response is not None and response in seen_responses:
            yield "repeated response id"
        elif text is not None and len(text) >= _LONG_TEXT and text in seen_texts:
            yield "identical long texts"
        elif row.probabilities is not None and text in seen_texts:
            yield "identical probabilities"
        elif frozen:
            yield "temperature 0"
        seen_responses.add(response)
        seen_texts.add(text)


def _tells(row: VerdictRow) -> bool:
    """Whether there is anything of a row that only a copy can share."""
    text = _text(row)
    if row.probabilities is not None:
        return True
    return (text is not None and len(text) >= _LONG_TEXT) or not _IDS.isdisjoint(row.attributes)


def _age(row: VerdictRow) -> tuple[bool, int]:
    return (row.attributes.get("cached") == "shared", row.repetition)


@dataclass(frozen=True, kw_only=True)
class VarianceSplit:
    """Variance components of one criterion, in squared units of the score (or of the 0/1 indicator).

    None means not estimable: one case only, one perturbation a case, one repetition. Components that came out
    negative are 0 and named in `clipped`.
    """

    between_cases: float | None
    between_perturbations: float | None
    between_repetitions: float | None
    clipped: tuple[str, ...] = ()

    @property
    def reliability(self) -> float | None:
        """ICC(1) of a single sample: the share of the variance that lies between cases."""
        parts = (self.between_cases, self.between_perturbations or 0.0, self.between_repetitions or 0.0)
        if parts[0] is None or not (total := sum(part for part in parts if part is not None)):
            return None
        return parts[0] / total


_Moments: TypeAlias = "tuple[int, Fraction, Fraction]"  # how many values, their sum, the sum of their squares


@lru_cache(maxsize=4096, typed=True)
def _exact(verdict: Verdict, positive: Verdict) -> Fraction:
    return Fraction(verdict) if isinstance(verdict, (int, float)) else Fraction(verdict == positive)


def _spread(parts: Iterable[tuple[int, _Moments]]) -> Fraction:
    """Return the squared distances from the mean, summed over values, and over parts as often as each is there."""
    sums: defaultdict[int, Fraction] = defaultdict(Fraction)
    for times, (size, total, squares) in parts:
        sums[size] += times * (size * squares - total * total)
    return sum((part / size for size, part in sums.items()), Fraction())


def _together(parts: Iterable[tuple[int, _Moments]]) -> _Moments:
    size, total, squares = 0, Fraction(), Fraction()
    for times, part in parts:
        size, total, squares = size + times * part[0], total + times * part[1], squares + times * part[2]
    return size, total, squares


def _cells(
    rows: Iterable[VerdictRow], positive: Verdict, like: Mapping[CaseKey, int]
) -> list[tuple[int, list[_Moments]]]:
    """Return the values of every case by perturbation, and how many such cases there are."""
    table: dict[str, dict[str, list[Fraction]]] = {}
    times: dict[str, int] = {}
    for row in rows:
        if row.verdict is not None:
            times[row.case_id] = like.get(row.case_key, 1)
            table.setdefault(row.case_id, {}).setdefault(row.perturbation, []).append(_exact(row.verdict, positive))
    return [(times[case_id], [_moments(cell) for cell in case.values()]) for case_id, case in table.items()]


def _moments(values: Collection[Fraction]) -> _Moments:
    return len(values), sum(values, Fraction()), sum((value * value for value in values), Fraction())


def variance_split(
    rows: Iterable[VerdictRow], *, positive: Verdict = "PASS", like: Mapping[CaseKey, int] = MappingProxyType({})
) -> VarianceSplit:
    """Split the variance of one judge and criterion by nested ANOVA with moments (unbalanced sizes allowed).

    Labels enter as the indicator of `positive`. Sums are exact, so that a component that is 0 comes out as 0.
    Source: Searle, Casella, McCulloch, Variance Components, ch. 3.

    Args:
        rows: of one judge and criterion.
        positive: the label whose indicator is split.
        like: case -> how many cases it stands for; itself alone where it is not named.

    """
    table = _cells(rows, positive, like)
    cells = [(times, cell) for times, case in table for cell in case]
    cases = [(times, _together((1, cell) for cell in case)) for times, case in table]
    everything = _together(cases)
    total, n_cells, n_cases = everything[0], sum(times for times, _ in cells), sum(times for times, _ in cases)
    within_spread, case_spread = _spread(cells), _spread(cases)
    within = within_spread / (total - n_cells) if total > n_cells else None
    squares = {
        "cells": Fraction(sum(times * size**2 for times, (size, *_) in cells), max(total, 1)),
        "cases": Fraction(sum(times * size**2 for times, (size, *_) in cases), max(total, 1)),
        "nested": _nested(table),
    }
    between_perturbations: Fraction | None = None
    if n_cells > n_cases and within is not None:
        mean_square = (case_spread - within_spread) / (n_cells - n_cases)
        between_perturbations = (mean_square - within) * (n_cells - n_cases) / (total - squares["nested"])
    between_cases: Fraction | None = None
    if n_cases > 1 and within is not None:
        mean_square = (_spread([(1, everything)]) - case_spread) / (n_cases - 1)
        lower = within + (between_perturbations or 0) * (squares["nested"] - squares["cells"]) / (n_cases - 1)
        between_cases = (mean_square - lower) * (n_cases - 1) / (total - squares["cases"])
    return _clipped(between_cases, between_perturbations, within)


def _nested(table: Iterable[tuple[int, list[_Moments]]]) -> Fraction:
    """Return the sum over cases of the squared sizes of their cells over their own size."""
    sums: Counter[int] = Counter()
    for times, case in table:
        sums[sum(size for size, *_ in case)] += times * sum(size**2 for size, *_ in case)
    return sum((Fraction(part, size) for size, part in sums.items()), Fraction())


def _clipped(cases: Fraction | None, perturbations: Fraction | None, repetitions: Fraction | None) -> VarianceSplit:
    parts = {"cases": cases, "perturbations": perturbations, "repetitions": repetitions}
    return VarianceSplit(
        between_cases=None if cases is None else max(0.0, float(cases)),
        between_perturbations=None if perturbations is None else max(0.0, float(perturbations)),
        between_repetitions=None if repetitions is None else float(repetitions),
        clipped=tuple(name for name, value in parts.items() if value is not None and value < 0),
    )


_LEANS: dict[tuple[str | None, str | None], int] = {("A", "A"): 1, ("B", "B"): -1}  # the same slot in both orders


@dataclass(frozen=True, kw_only=True)
class PositionBias:
    """Counts over pairs of samples that differ in the order alone.

    `pairs` were asked in both orders; `equal` gave the same canonical verdict in both (a failed sample is equal to
    nothing); `cases_first` and `cases_second` count cases, or clusters of them, that lean to one slot; `first_wins` and
    `second_wins` count verdicts by slot over both orders.
    """

    pairs: int
    equal: int
    always_first: int
    always_second: int
    first_wins: int
    second_wins: int
    cases_first: int
    cases_second: int

    @property
    def consistency(self) -> float | None:
        """Share of all pairs asked that gave the same verdict in both orders."""
        return self.equal / self.pairs if self.pairs else None

    @property
    def first_slot_rate(self) -> float | None:
        """Wins of the first shown text among all wins; ties and failures do not count."""
        wins = self.first_wins + self.second_wins
        return self.first_wins / wins if wins else None

    @property
    def p_value(self) -> float | None:
        """Exact McNemar test of always-first against always-second, one sign a cluster: pairs of one are dependent."""
        return sign_test(self.cases_first, self.cases_second)


def base_perturbation(row: VerdictRow) -> str:
    """Return the row's perturbation without the swap: what its partner in the other order shares."""
    if not row.swapped:
        return row.perturbation
    return "+".join(part for part in row.perturbation.split("+") if part != "position_swap") or "none"


def _slot(row: VerdictRow) -> str | None:
    """Return the slot that won, `A` for the first: the canonical verdict, mirrored when swapped."""
    verdict = str(row.verdict) if row.verdict in EXCHANGED else None
    return EXCHANGED[verdict] if verdict and row.swapped else verdict


def position_bias(rows: Iterable[VerdictRow]) -> PositionBias | None:
    """Count position bias over one judge and criterion; None when nothing was shown in both orders."""
    shown: dict[tuple[str, str, str, int], VerdictRow] = {}
    swapped: dict[tuple[str, str, str, int], VerdictRow] = {}
    for row in voting(rows):
        (swapped if row.swapped else shown)[row.run, row.case_id, base_perturbation(row), row.repetition] = row
    pairs = [(shown[key], swapped[key]) for key in shown.keys() & swapped.keys()]
    if not pairs:
        return None
    slots = [(_slot(first), _slot(second)) for first, second in pairs]
    clusters, leaning = Clusters.of_rows([row for pair in pairs for row in pair]), Counter[Cluster]()
    for (first, _), slot in zip(pairs, slots, strict=True):
        leaning[clusters.of(first.case_id)] += _LEANS.get(slot, 0)
    every = [slot for pair in slots for slot in pair]
    return PositionBias(
        pairs=len(pairs),
        equal=sum(first.ok and first.verdict == second.verdict for first, second in pairs),
        always_first=slots.count(("A", "A")),
        always_second=slots.count(("B", "B")),
        first_wins=every.count("A"),
        second_wins=every.count("B"),
        cases_first=sum(lean > 0 for lean in leaning.values()),
        cases_second=sum(lean < 0 for lean in leaning.values()),
    )
