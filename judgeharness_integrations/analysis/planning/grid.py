"""The designs that reach a goal and the labels a wanted width takes, what each costs, and which is the cheapest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Final, TypeAlias

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import Outcome, Verdict, VerdictRow

from ..aggregation.curtailing import asking_order, curtails, settled
from ..aggregation.rules import Rule
from ..calibration.rogangladen import RoganGladen, rogan_gladen
from ..statistics.paired import fewest
from .pilot import Truths
from .study import Decided, Goal, RateStudy, cases_of, reached_by


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What may be spent: `cases` at hand, `calls` allowed; prices and tokens of a call. None is not known."""

    cases: int | None = None
    calls: int | None = None
    price_per_call: float | None = None
    tokens_per_call: float | None = None

    def __post_init__(self) -> None:
        """Refuse limits below what there can be."""
        for name, value in (("cases", self.cases), ("budget", self.calls)):
            if value is not None and value < 1:
                raise UsageError(f"{name} must be a whole number of at least 1, not {value}.")
        if self.price_per_call is not None and not 0 <= self.price_per_call < float("inf"):
            raise UsageError(f"price must be a number of at least 0, not {self.price_per_call:g}.")


@dataclass(frozen=True, kw_only=True)
class Design:
    """Perturbations x repetitions on a number of cases: `reached` is the width or difference that gives.

    `calls` are of judges, without retries; of two systems where a difference is wanted. `affordable` says whether cases
    and calls are within the limits.
    """

    perturbations: int
    repetitions: int
    cases: int | None
    calls: int | None
    reached: float | None
    affordable: bool
    tokens: float | None = None
    price: float | None = None
    cheapest: bool = False


def designs(
    truths: Truths, *, tried: Sequence[tuple[int, int]], limits: Limits, averaging: bool = True
) -> tuple[Design, ...]:
    """Return the design with the fewest cases that reach the goal, for each number of perturbations x repetitions.

    The cheapest affordable one is marked: the fewest calls, then the fewest samples a case; without `averaging` over
    perturbations, of those with one. `cases` None: even 10 million are too few.
    """
    found = []
    for p, r in tried:
        cases = cases_of(truths.study(p, r))
        # what is found reaches the goal, and no more: to say by how much it does would cost as much again
        found.append(design(truths.goal, p, r, cases=cases, limits=limits, reached=truths.goal.value))
    worth = _worthwhile(truths, tried)
    within = [
        one
        for one in found
        if one.affordable and (averaging or one.perturbations == 1) and (one.perturbations, one.repetitions) in worth
    ]
    best = min(within, key=lambda one: (one.calls or 0, one.perturbations * one.repetitions), default=None)
    return tuple(replace(one, cheapest=one is best) for one in found)


def attainable(truths: Truths, *, tried: Sequence[tuple[int, int]], limits: Limits) -> Design | None:
    """Return the most precise design that uses up the limits; None without limits, or where they are too tight."""
    if limits.cases is None and limits.calls is None:
        return None
    found = []
    for p, r in _worthwhile(truths, tried):
        bounds = (limits.cases, None if limits.calls is None else limits.calls // (p * r * truths.goal.systems))
        one = present(truths, p, r, cases=min(bound for bound in bounds if bound is not None), limits=limits)
        if one.reached is not None:
            found.append((one.reached, one.calls, one))
    return min(found, key=lambda entry: entry[:2])[2] if found else None


def _worthwhile(truths: Truths, tried: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the designs whose samples buy what is wanted: of the width of a rate, the fewest samples a case.

    Its interval is that of decisions, each of them 0 or 1 however many samples are behind it.
    """
    if truths.repetitions_buy:
        return list(tried)
    return [min(tried, key=lambda one: (one[0] * one[1], one[0]))]


def present(truths: Truths, perturbations: int, repetitions: int, *, cases: int, limits: Limits) -> Design:
    """Return a design of so many cases with what it reaches."""
    reached = reached_by(truths.study(perturbations, repetitions), cases)
    return design(truths.goal, perturbations, repetitions, cases=cases, limits=limits, reached=reached)


def design(
    goal: Goal, perturbations: int, repetitions: int, *, cases: int | None, limits: Limits, reached: float | None
) -> Design:
    """Return one design with its precision and cost."""
    if cases is None:
        return Design(
            perturbations=perturbations, repetitions=repetitions, cases=None, calls=None, reached=None, affordable=False
        )
    calls = cases * perturbations * repetitions * goal.systems
    too_many = (limits.cases is not None and cases > limits.cases) or (
        limits.calls is not None and calls > limits.calls
    )
    return Design(
        perturbations=perturbations,
        repetitions=repetitions,
        cases=cases,
        calls=calls,
        reached=reached,
        affordable=not too_many,
        tokens=None if limits.tokens_per_call is None else calls * limits.tokens_per_call,
        price=None if limits.price_per_call is None else calls * limits.price_per_call,
    )


_MOST: Final = 10_000_000
_STUDIES: Final = 2_000
_HALF: Final = 0.5
_RATES: Final = 101
_fewest = partial(fewest, least=2, most=_MOST)


@dataclass(frozen=True, kw_only=True)
class CorrectedLabels:
    """Labels a corrected rate takes: `positives` that people call positive, and `negatives`.

    Both are None where `cases` judged cases are too few whatever is labelled; `fewest_cases` is how many it takes at
    least (None where the judge is no better than chance, and nothing can be corrected).
    """

    positives: int | None
    negatives: int | None
    cases: int
    fewest_cases: int | None
    judged_rate: float


def wilson_labels(rate: float, width: float, *, assurance: float | None = None) -> int | None:
    """Return how many labelled items give that width: for agreement items, for precision items the judge calls
    positive, for sensitivity items people call positive. None beyond 10 million.

    Args:
        rate: that is anticipated.
        width: of the 95 % interval, from end to end.
        assurance: share of studies whose interval is no wider; None: where the rate comes out as anticipated, as it
            does in about half of them.

    Raises:
        UsageError: a rate, the width or the assurance does not lie between 0 and 1.

    """  # noqa: D205 - one paragraph
    _check(rate=rate)
    if not 0 < width < 1:
        raise UsageError(f"a wanted width must lie between 0 and 1, not {width:g}.")
    goal = Goal(value=width, assurance=assurance)
    rates = np.array([rate])
    return cases_of(RateStudy(goal=goal, decided=Decided(rates=rates, spreads=rates * (1 - rates))), least=1)


def corrected_labels(
    *,
    rate: float,
    sensitivity: float,
    specificity: float,
    cases: int,
    width: float,
    assurance: float | None = 0.8,
    needed: float | None = None,
) -> CorrectedLabels:
    """Return the fewest labels that give a Rogan-Gladen corrected rate, as it is printed, an interval of that width.

    That is the interval of Lee et al. (arXiv 2511.21140), cut to [0, 1], on counts drawn with a fixed seed. Labels are
    divided by the Neyman allocation of the delta variance, (1-rate)^2 q0(1-q0)/m0 + rate^2 q1(1-q1)/m1 (Rogan and
    Gladen 1978), with Lee's pseudo-counts, so that no class of a perfect judge goes without.

    Args:
        rate: the true rate that is anticipated.
        sensitivity: q1, share of positives the judge finds.
        specificity: q0, share of negatives it leaves.
        cases: n, how many cases are judged without labels.
        width: wanted, from end to end.
        assurance: share of studies whose interval is no wider; None: half of them.
        needed: a true rate for which the width is to be met instead, with labels divided for `rate`: one that takes
            more of them and that a pilot leaves open.

    Raises:
        UsageError: a rate or the width does not lie between 0 and 1, or there is no case.

    """
    _check(rate=rate, sensitivity=sensitivity, specificity=specificity, needed=rate if needed is None else needed)
    if not 0 < width < 1:
        raise UsageError(f"a wanted width must lie between 0 and 1, not {width:g}.")
    if cases < 1:
        raise UsageError(f"cases must be a whole number of at least 1, not {cases}.")
    corrected = _Corrected(
        rate=rate,
        met_at=rate if needed is None else needed,
        sensitivity=sensitivity,
        specificity=specificity,
        width=width,
        share=assurance or _HALF,
    )
    expected = rate * sensitivity + (1 - rate) * (1 - specificity)
    facts: dict[str, Any] = {"cases": cases, "judged_rate": expected}
    if sensitivity + specificity <= 1:
        return CorrectedLabels(positives=None, negatives=None, fewest_cases=None, **facts)
    judged = _fewest(lambda n: corrected.met(n, _MOST))
    total = None if judged is None or cases < judged else _fewest(lambda labels: corrected.met(cases, labels))
    positives, negatives = (None, None) if total is None else corrected.divided(total)
    return CorrectedLabels(positives=positives, negatives=negatives, fewest_cases=judged, **facts)


def widest_rate(labels: CorrectedLabels, *, sensitivity: float, specificity: float) -> float:
    """Return the true rate whose corrected interval is widest with these labels, where counts come out as expected.

    A pilot leaves the rate open, and most labels are needed there. With few judged cases it is where half of them are
    judged positive; else the class of which the judge errs more often decides.
    """

    def width(rate: float) -> float:
        found = rogan_gladen(
            judged=rate * sensitivity + (1 - rate) * (1 - specificity),
            n=labels.cases,
            sensitivity=sensitivity,
            positives=labels.positives or _MOST,
            specificity=specificity,
            negatives=labels.negatives or _MOST,
        )
        low, high = _printed(found) or (0.0, 0.0)
        return high - low

    return max((step / (_RATES - 1) for step in range(_RATES)), key=width)


def _printed(found: RoganGladen | None) -> tuple[float, float] | None:
    """Return the interval of a corrected rate as it is printed, cut to [0, 1]."""
    if found is None or found.interval is None:
        return None
    low, high = (min(1.0, max(0.0, end)) for end in found.interval)
    return low, high


@dataclass(frozen=True, kw_only=True)
class _Corrected:
    """A corrected rate that is planned: how often its printed interval is as narrow as wanted."""

    rate: float
    met_at: float
    sensitivity: float
    specificity: float
    width: float
    share: float

    @property
    def judged(self) -> float:
        return self.met_at * self.sensitivity + (1 - self.met_at) * (1 - self.specificity)

    def divided(self, total: int) -> tuple[int, int]:
        """Return labels of positives and of negatives."""
        q1, q0 = ((total / 2 * share + 1) / (total / 2 + 2) for share in (self.sensitivity, self.specificity))
        root1 = self.rate * math.sqrt(q1 * (1 - q1))
        root0 = (1 - self.rate) * math.sqrt(q0 * (1 - q0))
        positives = min(total - 1, max(1, round(total * root1 / (root1 + root0))))
        return positives, total - positives

    def met(self, cases: int, labels: int) -> bool:
        """Whether so many cases and labels give the wanted width in the wanted share of studies."""
        positives, negatives = self.divided(labels)
        random = np.random.default_rng(0)
        drawn = (
            (cases, self.judged),
            (positives, self.sensitivity),
            (negatives, self.specificity),
        )
        counts = (random.binomial(size, share, size=_STUDIES).tolist() for size, share in drawn)
        return sum(
            self._narrow(
                rogan_gladen(
                    judged=passed / cases,
                    n=cases,
                    sensitivity=right1 / positives,
                    positives=positives,
                    specificity=right0 / negatives,
                    negatives=negatives,
                )
            )
            for passed, right1, right0 in zip(*counts, strict=True)
        ) >= (self.share * _STUDIES)

    def _narrow(self, found: RoganGladen | None) -> bool:
        low, high = _printed(found) or (0.0, 0.0)
        return 0 < high - low <= self.width


def _check(**rates: float) -> None:
    for name, value in rates.items():
        if not 0 <= value <= 1:
            raise UsageError(f"{name} must lie between 0 and 1, not {value:g}.")


_Asked: TypeAlias = "tuple[tuple[str, bool], ...]"  # perturbation, and whether it swaps, of each sample as it is asked
_Sample: TypeAlias = "tuple[str, Verdict | None, Outcome, int]"  # perturbation, verdict, outcome, how many
_Left: TypeAlias = "frozenset[_Sample]"


@dataclass(frozen=True, kw_only=True)
class EarlyStopping:
    """Samples a case takes under a rule with `curtail`, of `planned` ones.

    `steady` is what a judge takes that always says the same. `expected` is the mean over `cases` of a pilot that were
    asked in full: over every order in which the samples of a perturbation may come, each as likely as another, which
    is exact and without bias for samples that are independent given their case. None without such cases.
    """

    planned: int
    steady: int
    expected: float | None = None
    cases: int = 0

    @property
    def saved(self) -> float | None:
        """The share of the calls that is expected to be saved."""
        return None if self.expected is None else 1 - self.expected / self.planned


def early_stopping(
    rule: Rule,
    samples: Sequence[tuple[str, bool]],
    *,
    cases: Iterable[Sequence[VerdictRow]] = (),
    min_valid: int | None = None,
) -> EarlyStopping | None:
    """Return what stopping early takes; None under a rule that cannot stop.

    Args:
        rule: decides.
        samples: perturbation of each sample of a case in plan order, and whether it swaps.
        cases: rows of one criterion of pilot cases; those that hold other samples count for nothing.
        min_valid: the quorum.

    """
    if curtails(rule) is not None or not samples:
        return None
    planned = Counter(samples)
    orders = tuple(_in_order(samples, rule, swapped_first=first) for first in (False, True))
    taken = [
        _mean([_expected(order, _left(rows), rule, min_valid) for order in dict.fromkeys(orders)])
        for rows in cases
        if Counter((row.perturbation, row.swapped) for row in rows) == planned
    ]
    verdict = "A" if rule.kind != "numbers" else 1
    same = [VerdictRow(case_id="", verdict=verdict, perturbation=name, swapped=swaps) for name, swaps in samples]
    return EarlyStopping(
        planned=len(samples),
        steady=round(_expected(orders[0], _left(same), rule, min_valid)),
        expected=_mean(taken) if taken else None,
        cases=len(taken),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _in_order(samples: Sequence[tuple[str, bool]], rule: Rule, *, swapped_first: bool) -> _Asked:
    seen: Counter[str] = Counter()
    repetitions = []
    for name, swaps in samples:
        repetitions.append((seen[name], swaps))
        seen[name] += 1
    return tuple(samples[place] for place in asking_order(repetitions, rule, swapped_first=swapped_first))


def _left(rows: Iterable[VerdictRow]) -> _Left:
    counts: Counter[tuple[str, Verdict | None, Outcome]] = Counter()
    for row in rows:
        counts[row.perturbation, row.verdict, row.outcome] += 1
    samples: list[_Sample] = [(*sample, count) for sample, count in counts.items()]
    return frozenset(samples)


@lru_cache(maxsize=4096)
def _expected(order: _Asked, given: _Left, rule: Rule, min_valid: int | None) -> float:
    """Return the mean number of samples until a case is settled whose samples are drawn in this order."""
    states: dict[_Left, float] = {given: 1.0}  # what is not drawn yet -> its chance
    expected = 0.0
    for asked, (name, _) in enumerate(order):
        following: dict[_Left, float] = {}
        for left, chance in states.items():
            if settled(_drawn(order, given, left), rule, remaining=_swaps(order[asked:]), min_valid=min_valid):
                continue
            expected += chance
            of_name = sum(count for perturbation, *_, count in left if perturbation == name)
            for sample in left:
                if sample[0] == name:
                    after = _without(left, sample)
                    following[after] = following.get(after, 0.0) + chance * sample[-1] / of_name
        states = following
    return expected


def _swaps(asked: _Asked) -> list[bool]:
    return [swaps for _, swaps in asked]


def _without(left: _Left, sample: _Sample) -> _Left:
    fewer: set[_Sample] = {(*sample[:3], sample[3] - 1)} if sample[3] > 1 else set()
    return (left - {sample}) | fewer


def _drawn(order: _Asked, given: _Left, left: _Left) -> list[VerdictRow]:
    swaps = dict(order)
    still = {sample[:3]: sample[3] for sample in left}
    return [
        VerdictRow(case_id="", verdict=verdict, outcome=outcome, perturbation=name, swapped=swaps[name])
        for name, verdict, outcome, count in given
        for _ in range(count - still.get((name, verdict, outcome), 0))
    ]
