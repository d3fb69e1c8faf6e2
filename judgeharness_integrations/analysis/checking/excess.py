"""How much more often a change makes a judge do something than asking again, and a lean to one slot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final, TypeAlias

from judgeharness_integrations.verdictlog.encoding import counted
from judgeharness_integrations.verdictlog.row import VerdictRow, is_probe

from ..aggregation.statistics import position_bias
from ..statistics.paired import tango_interval, with_zero
from ..statistics.proportions import clopper_pearson, sign_test
from .samples import (
    UNCHANGED,
    Finding,
    Place,
    Samples,
    Speaking,
    effect_text,
    ever_text,
    missing,
    percent,
    points,
    whole_hits,
    worst_cases,
)
from .statistics import (
    PropertyCheck,
    WorstCase,
    cases_to_settle_excess,
    cases_to_settle_lean,
    excess_interval,
    excess_test,
    smallest_excess,
    smallest_lean,
)

NO_BASELINE = "without repetitions of the cases as they are, a flip and noise look the same"
_HALF: Final = 0.5  # of two answers to one question no noise makes more than half of them differ


@dataclass(frozen=True, kw_only=True)
class Stratum:
    """A case in one order: its `base` sample, its further samples as it is, and those under the change."""

    case: str
    base: VerdictRow
    again: Sequence[VerdictRow]
    changed: Sequence[VerdictRow]


Event: TypeAlias = Callable[[VerdictRow, VerdictRow], bool]  # (base sample, other sample of the stratum)


@dataclass(frozen=True, kw_only=True)
class Excess:
    """Counts over cases, each of which counts once; `baseline` and `effect` are over those that were repeated.

    `shares` holds the share of its samples under the change with the event, of each case; `again` that of its further
    samples as it is, of each case that was repeated.
    """

    shares: Mapping[str, float]
    again: Mapping[str, float]
    cases: int
    hits: float | None
    rate: float
    interval: tuple[float, float]
    baseline_cases: int
    baseline: float | None
    effect: float | None
    effect_interval: tuple[float, float] | None
    p_value: float | None
    probed: int
    repeated: int
    calls: float
    worst: tuple[WorstCase, ...]

    def within(self, tolerance: float) -> bool:
        """Whether the effect is proven to be small; it is no larger than the rate of the event itself."""
        ends = [self.interval[1], *([] if self.effect_interval is None else [self.effect_interval[1]])]
        return min(ends) <= tolerance

    def smallest(self, alpha: float) -> float | None:
        """Return the smallest effect that would have been found at this level; None without a baseline."""
        design = {"probed": self.probed, "base": self.repeated}
        return smallest_excess(self.baseline_cases, noise=self.baseline or 0.0, alpha=alpha, **design)

    def settle(self, alpha: float, tolerance: float) -> int | None:
        """Return how many more cases would settle it.

        Without a baseline what was seen is taken for noise, for an effect where it is more than noise can be.
        """
        bare = self.baseline is None
        noise = self.baseline if self.baseline is not None else self.rate if self.rate <= _HALF else 0.0
        more = cases_to_settle_excess(
            0 if bare else self.baseline_cases,
            effect=self.rate - noise if self.effect is None else self.effect,
            noise=noise,
            probed=self.probed,
            base=max(1, self.repeated),
            tolerance=tolerance,
            alpha=alpha,
        )
        return more if more is None or not bare else max(0, more - self.cases)


def strata_of(samples: Samples, changed: Mapping[Place, Sequence[VerdictRow]]) -> Iterator[Stratum]:
    """Yield the strata of a change: its samples beside those of the same case in the same order."""
    for place, after in changed.items():
        as_it_is = samples.unchanged.get(place)
        if as_it_is:
            yield Stratum(case=place[0], base=as_it_is[0], again=as_it_is[1:], changed=after)


@dataclass(frozen=True, kw_only=True)
class _Counted:
    """A stratum with its events: under the change, and under repetition alone."""

    stratum: Stratum
    changed: int
    again: int

    @property
    def share(self) -> float:
        """How much of it shows the event under the change."""
        return self.changed / len(self.stratum.changed)

    @property
    def baseline(self) -> float:
        """How much of it does when merely asked again, which it was."""
        return self.again / len(self.stratum.again)


def excess_of(strata: Sequence[Stratum], event: Event) -> Excess | None:
    """Count an event under the change and under repetition alone; None without any stratum."""
    cases: dict[str, list[_Counted]] = {}
    for one in sorted(strata, key=lambda one: (one.case, one.base.swapped)):
        cases.setdefault(one.case, []).append(_counted(one, event))
    if not cases:
        return None
    every = [one for group in cases.values() for one in group]
    repeated = [one for one in every if one.stratum.again]
    shares = {case: fmean(one.share for one in group) for case, group in cases.items()}
    again = {
        case: fmean(one.baseline for one in group if one.stratum.again)
        for case, group in cases.items()
        if any(one.stratum.again for one in group)
    }
    hits = sum(shares.values())
    return Excess(
        shares=shares,
        again=again,
        cases=len(cases),
        hits=whole_hits(shares.values()),
        rate=hits / len(cases),
        interval=clopper_pearson(hits, len(cases)),
        baseline_cases=len(again),
        baseline=fmean(again.values()) if again else None,
        effect=fmean(shares[case] - share for case, share in again.items()) if again else None,
        effect_interval=excess_interval([shares[case] for case in again], list(again.values())) if again else None,
        p_value=_p_value(repeated) if again else None,
        probed=_mean([len(one.stratum.changed) for one in every]),
        repeated=_mean([len(one.stratum.again) for one in repeated]),
        calls=sum(1 + len(one.stratum.again) + len(one.stratum.changed) for one in every) / len(cases),
        worst=worst_cases(list(_speaking(cases, shares, event))),
    )


def _counted(one: Stratum, event: Event) -> _Counted:
    changed = sum(event(one.base, other) for other in one.changed)
    return _Counted(stratum=one, changed=changed, again=sum(event(one.base, other) for other in one.again))


def _mean(counts: Sequence[int]) -> int:
    return max(1, round(sum(counts) / len(counts))) if counts else 0


def _p_value(repeated: Sequence[_Counted]) -> float:
    return excess_test(
        [one.changed for one in repeated],
        [len(one.stratum.changed) for one in repeated],
        [one.again for one in repeated],
        [len(one.stratum.again) for one in repeated],
    )


def _speaking(cases: Mapping[str, Sequence[_Counted]], shares: Mapping[str, float], event: Event) -> Iterator[Speaking]:
    """Yield the cases with the event, each with the first sample that shows it."""
    for case, group in cases.items():
        shown = next((one.stratum for one in group if one.changed), None)
        if shown is not None:
            yield shares[case], case, shown.base, next(row for row in shown.changed if event(shown.base, row))


def excess_finding(
    found: Excess, *, name: str, samples: Samples, tolerance: float, told: str, noun: str, asked: int, valid: int
) -> Finding:
    """Return what was found of a change that must do nothing.

    Args:
        found: the counts.
        name: the property.
        samples: of the criterion.
        tolerance: largest effect that passes.
        told: what the cases did: `changed their verdict`.
        noun: what is counted: `case`, `attacked case`.
        asked: samples under the change.
        valid: those of them with a verdict.

    """
    check = PropertyCheck(
        name=name,
        criterion=samples.criterion,
        status="inconclusive",
        reason=_reason(found, told, noun),
        tolerance=tolerance,
        cases=found.cases,
        asked=asked,
        valid=valid,
        hits=found.hits,
        rate=found.rate,
        interval=found.interval,
        baseline=found.baseline,
        baseline_cases=found.baseline_cases,
        effect=found.effect,
        effect_interval=found.effect_interval,
        p_value=found.p_value,
        worst=found.worst,
    )
    bare = found.baseline is None
    return Finding(
        check=check,
        proven=found.within(tolerance),
        advice=NO_BASELINE
        if bare
        else f"the excess is neither within {points(tolerance)} nor more than noise explains",
        fault="more than noise explains",
        smallest=found.smallest,
        settle=lambda alpha: found.settle(alpha, tolerance),
        calls=found.calls + bare,
        repeat=found.cases if bare else 0,
    )


def _reason(found: Excess, told: str, noun: str) -> str:
    """Return the counts behind the effect: over all cases, and where only some were repeated, over those."""
    seen = ever_text(found.shares.values(), told, noun)
    if found.effect is None or found.effect_interval is None:
        return seen
    excess = f"excess {effect_text(found.effect, found.effect_interval)}"
    if len(found.again) == found.cases:
        return f"{seen}, {_alone(found, of=f' of {found.cases}')}; {excess}"
    repeated = [found.shares[case] for case in found.again]
    did = ever_text(repeated, "did", every=False)
    asked = f"of the {len(repeated)} that {'was' if len(repeated) == 1 else 'were'} asked again"
    return f"{seen}; {asked} {did}, {_alone(found, of='')}; {excess}"


def _alone(found: Excess, *, of: str) -> str:
    """Return `3 of 48 under repetition alone`, with the mean where a case was asked again more than once."""
    ever = sum(share > 0 for share in found.again.values())
    if whole_hits(found.again.values()) is not None:
        return f"{ever}{of} under repetition alone"
    return f"{ever}{of} at least once under repetition alone (on average {percent(found.baseline or 0.0)} of answers)"


PERTURBED: Final = ("names", "slot_names", "format", "whitespace", "typography", "paraphrase", "prompt_variant")
NOTHING_AS_IT_IS: Final = "no verdict of the cases as they are to compare with"
_NAMES: Final = {"name_swap": "names", "format_change": "format"}
_PERTURBATIONS: Final = {"names": "name_swap", "format": "format_change"}


def property_of(perturbation: str) -> str | None:
    """Return the property a perturbation is of, whatever the order; None for no change and for probes."""
    perturbation = _unswapped(perturbation)
    if perturbation == UNCHANGED or is_probe(perturbation):
        return None
    if "+" in perturbation:
        return perturbation
    plain = perturbation.split("(", 1)[0]
    plain = plain if plain in PERTURBED else perturbation
    return _NAMES.get(plain, plain)


def perturbed(samples: Samples, name: str, *, tolerance: float) -> Finding:
    """Return whether a change that must not matter changes verdicts, beyond what repetition alone does."""
    changed = [perturbation for perturbation in sorted(samples.placed) if property_of(perturbation) == name]
    asked = sum(count for each, count in samples.asked.items() if property_of(each) == name)
    if not asked:
        return missing(name, samples.criterion, f"no sample under {_PERTURBATIONS.get(name, name)}")
    strata = list(strata_of(samples, merged(samples, changed)))
    found = excess_of(strata, lambda base, other: samples.differ(base.verdict, other.verdict))
    valid = sum(len(stratum.changed) for stratum in strata)
    if found is None:
        reason = NOTHING_AS_IT_IS if changed else f"none of {asked} answers under the change is a verdict"
        return missing(name, samples.criterion, reason, asked=asked)
    return excess_finding(
        found,
        name=name,
        samples=samples,
        tolerance=tolerance,
        told="changed",
        noun="case",
        asked=asked,
        valid=valid,
    )


def _unswapped(perturbation: str) -> str:
    return "+".join(part for part in perturbation.split("+") if part != "position_swap") or UNCHANGED


def merged(samples: Samples, perturbations: Iterable[str]) -> dict[Place, tuple[VerdictRow, ...]]:
    """Return the samples of several perturbations of one property together, by place."""
    places: dict[Place, tuple[VerdictRow, ...]] = {}
    for name in perturbations:
        for place, rows in samples.placed[name].items():
            places[place] = (*places.get(place, ()), *rows)
    return places


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
        advice=f"the lean is neither within {points(tolerance)} nor more than chance explains",
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
            louder="judged by the lean",
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
            louder="judged by the flips",
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
        fault="more than chance explains",
        advice=_advice(questions, found, tolerance),
        smallest=lambda alpha: shown.smallest(alpha / 2),
        settle=lambda alpha: _longest([one.settle(alpha / 2) for one in opened]),
        repeat=0 if questions[1].proven else flips.repeat,
    )


def _advice(questions: list[_Question], found: Excess, tolerance: float) -> str:
    if questions[0].proven and found.baseline is None:
        return NO_BASELINE
    return f"the effect of the order is neither within {points(tolerance)} nor more than chance explains"


def _longest(wanted: list[int | None]) -> int | None:
    """Return the most cases wanted; None where something is settled by none."""
    known = [cases for cases in wanted if cases is not None]
    return max(known, default=None) if len(known) == len(wanted) else None
