"""A lean to one slot: the exact McNemar test over cases, and Tango's interval of the net lean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from judgeharness_integrations.analysis.aggregation.position import position_bias
from judgeharness_integrations.analysis.checking.properties.excess import (
    NO_BASELINE,
    Excess,
    Stratum,
    excess_finding,
    excess_of,
)
from judgeharness_integrations.analysis.checking.properties.samples import (
    Finding,
    Samples,
    Speaking,
    effect_text,
    missing,
    points,
    worst_cases,
)
from judgeharness_integrations.analysis.checking.report import PropertyCheck, WorstCase
from judgeharness_integrations.analysis.checking.statistics import cases_to_settle_lean, smallest_lean
from judgeharness_integrations.analysis.statistics.paired import tango_interval, with_zero
from judgeharness_integrations.analysis.statistics.proportions import clopper_pearson, sign_test
from judgeharness_integrations.verdictlog.plain import counted
from judgeharness_integrations.verdictlog.row import VerdictRow, is_probe


@dataclass(frozen=True, kw_only=True)
class Lean:
    """How many of the cases lean to the first slot, and how many to the second."""

    cases: int
    first: int
    second: int

    @property
    def p_value(self) -> float:
        """Exact McNemar test of the two; 1.0 where nothing leans."""
        found = sign_test(self.first, self.second)
        return 1.0 if found is None else found

    @property
    def effect(self) -> float:
        """The net lean to the first slot, a share of all cases."""
        return (self.first - self.second) / self.cases

    @property
    def interval(self) -> tuple[float, float]:
        """Tango's interval at 95 %; it holds 0 where the test does not reject it."""
        return with_zero(tango_interval(self.first, self.second, self.cases), self.p_value)

    def within(self, tolerance: float) -> bool:
        """Whether the lean is proven to be small, whichever way it goes."""
        low, high = self.interval
        return -tolerance <= low and high <= tolerance

    def smallest(self, alpha: float) -> float | None:
        """Return the smallest net lean that would have been found at this level."""
        return smallest_lean(self.cases, 2 * min(self.first, self.second) / self.cases, alpha=alpha)

    def settle(self, alpha: float, tolerance: float) -> int | None:
        """Return how many more cases would settle it."""
        return cases_to_settle_lean(self.cases, first=self.first, second=self.second, tolerance=tolerance, alpha=alpha)


def lean_finding(
    lean: Lean, *, name: str, criterion: str, tolerance: float, told: str, asked: int, speaking: Sequence[Speaking]
) -> Finding:
    """Return what was found of a property whose effect is a lean alone."""
    leaning = max(lean.first, lean.second)
    check = PropertyCheck(
        name=name,
        criterion=criterion,
        status="inconclusive",
        reason=f"{told} of {counted(lean.cases, 'case')}: net lean {effect_text(lean.effect, lean.interval)}",
        tolerance=tolerance,
        cases=lean.cases,
        asked=asked,
        valid=lean.cases,
        hits=leaning,
        rate=leaning / lean.cases,
        interval=clopper_pearson(leaning, lean.cases),
        effect=lean.effect,
        effect_interval=lean.interval,
        p_value=lean.p_value,
        worst=worst_cases(speaking),
    )
    return Finding(
        check=check,
        proven=lean.within(tolerance),
        advice=f"the lean is neither within {points(tolerance)} nor more than chance makes",
        smallest=lean.smallest,
        settle=lambda alpha: lean.settle(alpha, tolerance),
    )


_SWAP: Final = "position_swap"
_CLEAR: Final = 0.01


@dataclass(frozen=True, kw_only=True)
class _Question:
    """One of the two questions, so that both are treated alike."""

    told: str
    louder: str
    p_value: float
    proven: bool
    effect: float | None
    interval: tuple[float, float] | None
    worst: tuple[WorstCase, ...]
    smallest: Callable[[float], float | None]
    settle: Callable[[float], int | None]
    weight: float = 1.0

    def silence(self) -> tuple[bool, float]:
        """Return a key that is smallest of the louder one: of two clear effects a lean of more than half the flips."""
        clear = self.p_value <= _CLEAR and not holds_zero(self.interval)
        return not clear, -self.weight * abs(self.effect or 0.0) if clear else self.p_value


def position(samples: Samples, *, tolerance: float) -> Finding:
    """Return whether verdicts hang on the order: flips beyond repetition, and of pairs a lean to one slot.

    The two questions share the level: the p-value is twice the smaller one of theirs. Of a few cases with many samples
    each the flips can be significant while the interval of their effect, which asks what other cases would do, holds 0:
    that is no `fail` yet (see `settling`).
    """
    asked = samples.asked.get(_SWAP, 0)
    strata = list(_strata(samples))
    found = excess_of(strata, lambda base, other: samples.differ(base.verdict, other.verdict))
    if found is None:
        reason = "no case has a verdict in both orders" if asked else f"no sample under {_SWAP}"
        return missing("position", samples.criterion, reason, asked=asked)
    flips = excess_finding(
        found,
        name="position",
        samples=samples,
        tolerance=tolerance,
        told="changed with the order",
        noun="case",
        asked=asked,
        valid=sum(len(rows) for (_, swapped), rows in samples.unchanged.items() if swapped),
    )
    if samples.kind != "pairwise":
        return flips
    lean = _lean(samples)
    return _both(flips, found, lean, _leaning(strata, "A" if lean.effect > 0 else "B"), tolerance)


def holds_zero(interval: tuple[float, float] | None) -> bool:
    """Whether an effect may be none at all, as its interval says; where there is none it does not say so."""
    return interval is not None and interval[0] <= 0 <= interval[1]


def _strata(samples: Samples) -> Iterator[Stratum]:
    for (case, swapped), rows in samples.unchanged.items():
        other = samples.unchanged.get((case, True))
        if not swapped and other:
            yield Stratum(case=case, base=rows[0], again=rows[1:], changed=other)


def _lean(samples: Samples) -> Lean:
    """Return the lean over everything that was shown in both orders and votes."""
    votes = {name: places for name, places in samples.placed.items() if not is_probe(name)}
    cases = {case for places in votes.values() for case, swapped in places if swapped and (case, False) in places}
    bias = position_bias(
        _numbered(row, number)
        for places in votes.values()
        for rows in places.values()
        for number, row in enumerate(rows)
    )
    first, second = (bias.cases_first, bias.cases_second) if bias else (0, 0)
    return Lean(cases=len(cases), first=first, second=second)


def _leaning(strata: Sequence[Stratum], winner: str) -> tuple[WorstCase, ...]:
    """Return cases with the same winning slot in both orders: `winner` as they are, the other answer swapped."""
    loser = "B" if winner == "A" else "A"
    found = [
        (1.0, one.case, one.base, row)
        for one in strata
        for row in one.changed[:1]
        if (one.base.verdict, row.verdict) == (winner, loser)
    ]
    return worst_cases(found)


def _numbered(row: VerdictRow, number: int) -> VerdictRow:
    """Return a sample with its number among the valid ones: a failed one leaves no other without its partner."""
    return row if row.repetition == number else replace(row, repetition=number)


def _both(flips: Finding, found: Excess, lean: Lean, leaning: tuple[WorstCase, ...], tolerance: float) -> Finding:
    """Join the two questions; the one to be shown is the louder of those that are not proven to be small."""
    slots = f"of {counted(lean.cases, 'case')} {lean.first} lean to the first slot and {lean.second} to the second"
    questions = [
        _Question(
            told=f"{slots}, net {effect_text(lean.effect, lean.interval)}",
            louder="the lean speaks louder",
            p_value=lean.p_value,
            proven=lean.within(tolerance),
            effect=lean.effect,
            interval=lean.interval,
            worst=leaning or flips.check.worst,
            smallest=lean.smallest,
            settle=lambda alpha: lean.settle(alpha, tolerance),
            weight=2.0,
        ),
        _Question(
            told=slots,
            louder="the flips speak louder",
            p_value=1.0 if found.p_value is None else found.p_value,
            proven=flips.proven,
            effect=found.effect,
            interval=found.effect_interval,
            worst=flips.check.worst,
            smallest=found.smallest,
            settle=lambda alpha: found.settle(alpha, tolerance),
        ),
    ]
    opened = [one for one in questions if not one.proven]
    candidates = [one for one in opened or questions if one.effect is not None]
    shown = min(candidates or questions[:1], key=_Question.silence)
    check = replace(
        flips.check,
        reason=f"{flips.check.reason}; {shown.told}" + ("" if shown.proven else f"; {shown.louder}"),
        effect=shown.effect,
        effect_interval=shown.interval,
        worst=shown.worst,
        p_value=min(1.0, 2 * min(one.p_value for one in candidates or questions[:1])),
    )
    return replace(
        flips,
        check=check,
        proven=not opened,
        harmless=shown.proven,
        fault="more than chance makes",
        advice=_advice(questions, found, tolerance),
        smallest=lambda alpha: shown.smallest(alpha / 2),
        settle=lambda alpha: _longest([one.settle(alpha / 2) for one in opened]),
        repeat=0 if questions[1].proven else flips.repeat,
    )


def _advice(questions: list[_Question], found: Excess, tolerance: float) -> str:
    if questions[0].proven and found.baseline is None:
        return NO_BASELINE
    return f"the effect of the order is neither within {points(tolerance)} nor more than chance makes"


def _longest(wanted: list[int | None]) -> int | None:
    """Return the most cases wanted; None where something is settled by none."""
    known = [cases for cases in wanted if cases is not None]
    return max(known, default=None) if len(known) == len(wanted) else None
