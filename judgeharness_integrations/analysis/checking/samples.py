"""The rows of a judge by change, case and order, and the same question again: do answers stay, can they be read?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Final, Literal, TypeAlias

from judgeharness_integrations.verdictlog.encoding import counted
from judgeharness_integrations.verdictlog.row import (
    Outcome,
    Side,
    Verdict,
    VerdictRow,
    is_probe,
    probe_name,
    verdict_text,
)

from ..aggregation.grouping import is_numeric
from ..aggregation.statistics import Independence, base_perturbation, independence, response_of, within
from ..statistics.proportions import above_test, clopper_pearson
from .statistics import PropertyCheck, Status, WorstCase, cases_to_settle_above, smallest_above

Kind: TypeAlias = Literal["pairwise", "graded", "scores", "labels", "unknown"]
Place: TypeAlias = "tuple[str, bool]"  # the case, and whether its texts stood in the other order
UNCHANGED: Final = "none"
SCORE_STEPS: Final = 9  # two scores agree within one step of a 1-10 scale, or a ninth of any other
_PAIRWISE: Final = frozenset({"A", "B", "TIE"})
_GRADES: Final = frozenset({"PASS", "FAIL"})


@dataclass(frozen=True, kw_only=True)
class Samples:
    """What one judge said about one criterion.

    `placed` holds, per perturbation without its swap and per place, the valid samples in order of repetition; those
    that are proven copies of another one are left out and counted in `copies`. `rows` are all samples but errors of
    infrastructure, `asked` counts those as well, per perturbation as it stands in the log. `tolerance` is how far two
    scores may lie apart and still be the same verdict, `lowest` the lowest score there is, where that is declared.
    """

    criterion: str
    kind: Kind
    tolerance: float
    rows: tuple[VerdictRow, ...]
    placed: Mapping[str, Mapping[Place, tuple[VerdictRow, ...]]]
    asked: Mapping[str, int]
    copies: int
    lowest: float | None = None

    @property
    def unchanged(self) -> Mapping[Place, tuple[VerdictRow, ...]]:
        """The samples of the cases as they are, in both orders."""
        return self.placed.get(UNCHANGED, {})

    @property
    def calls_as_it_is(self) -> float:
        """How often a case was asked as it is: what every probe of one more case costs besides itself."""
        return self.asked.get(UNCHANGED, 0) / max(1, self.cases)

    @property
    def cases(self) -> int:
        """The cases that were asked without a probe."""
        return len({row.case_id for row in self.voting()})

    def differ(self, first: Verdict | None, second: Verdict | None) -> bool:
        """Whether two verdicts are different ones."""
        if isinstance(first, (int, float)) and isinstance(second, (int, float)):
            return not within(first, second, self.tolerance)
        return first != second

    def voting(self) -> Iterator[VerdictRow]:
        """Yield the samples that vote: those of adversarial probes do not."""
        return (row for row in self.rows if not is_probe(row.perturbation))


def samples_of(
    criterion: str, rows: Iterable[VerdictRow], *, tolerance: float | None = None, lowest: float | None = None
) -> Samples:
    """Lay out the rows of one judge and criterion.

    Args:
        criterion: the criterion.
        rows: its rows.
        tolerance: how far two scores may lie apart and still be the same verdict; None takes a ninth of the range of
            the scores seen.
        lowest: the lowest score there is, where that is declared.

    Raises:
        UsageError: labels and numbers are mixed.

    """
    rows = sorted(rows, key=lambda row: (row.case_id, row.perturbation, row.repetition, row.run))
    asked: dict[str, int] = {}
    groups: dict[str, dict[Place, list[VerdictRow]]] = {}
    for row in rows:
        asked[row.perturbation] = asked.get(row.perturbation, 0) + 1
        if row.ok:
            places = groups.setdefault(base_perturbation(row), {})
            places.setdefault((row.case_id, row.swapped), []).append(row)
    placed = {name: {place: _own(group) for place, group in places.items()} for name, places in groups.items()}
    valid = sum(row.ok for row in rows)
    return Samples(
        criterion=criterion,
        kind=_kind(rows),
        tolerance=_step(rows) if tolerance is None else tolerance,
        rows=tuple(row for row in rows if row.outcome != "error"),
        placed=placed,
        asked=asked,
        copies=valid - sum(len(group) for places in placed.values() for group in places.values()),
        lowest=lowest,
    )


def _step(rows: Sequence[VerdictRow]) -> float:
    """Return how far scores of a scale that is not declared may lie apart: a part of the range of those seen."""
    scores = [row.verdict for row in rows if isinstance(row.verdict, (int, float))]
    return (max(scores) - min(scores)) / SCORE_STEPS if scores else 0.0


def _own(group: Sequence[VerdictRow]) -> tuple[VerdictRow, ...]:
    """Return the samples that are answers of their own, not those of a shared cache or of a response seen before."""
    if len(group) == 1:
        return (group[0],)
    kept: list[VerdictRow] = []
    seen: set[object] = set()
    for row in sorted(group, key=_from_cache):
        response = response_of(row)
        if not kept or not (_from_cache(row) or (response is not None and response in seen)):
            kept.append(row)
        seen.add(response)
    return tuple(sorted(kept, key=lambda row: row.repetition))


def _from_cache(row: VerdictRow) -> bool:
    return row.attributes.get("cached") == "shared"


def _kind(rows: Sequence[VerdictRow]) -> Kind:
    """Return what the verdicts are; PASS or FAIL may stand among other grades."""
    numeric = is_numeric(rows)
    if numeric is None:
        return "unknown"
    if numeric:
        return "scores"
    verdicts = {row.verdict for row in rows if row.ok}
    if verdicts <= _PAIRWISE:
        return "pairwise"
    return "graded" if verdicts & _GRADES else "labels"


_SMALL: Final = 0.001
UNREPEATED: Final = "no case has two valid answers to one and the same question"


def count_text(count: float) -> str:
    """Return `3`, or `2.3` of cases that count by a share of their samples."""
    return f"{count:,.0f}" if abs(count - round(count)) < _SMALL else f"{count:,.1f}"


def of_text(hits: float, cases: int, noun: str = "case") -> str:
    """Return `3 of 48 cases`."""
    return f"{count_text(hits)} of {counted(cases, noun)}"


def whole_hits(shares: Collection[float]) -> float | None:
    """Return how many cases show an event; None where some do in a part of their samples: a sum is no count then."""
    return sum(shares) if all(share in {0, 1} for share in shares) else None


def ever_text(shares: Collection[float], told: str, noun: str = "case", *, every: bool = True) -> str:
    """Return `3 of 48 cases changed`; where a case has several samples, how many changed at least once, and the mean.

    Args:
        shares: of each case, the share of its samples with the event; at least one.
        told: what they did: `changed`.
        noun: what is counted: `case`, `attacked case`.
        every: whether their number is told as well: `3 changed`.

    """
    ever = sum(share > 0 for share in shares)
    seen = f"{of_text(ever, len(shares), noun)} {told}" if every else f"{ever} {told}"
    if whole_hits(shares) is not None:
        return seen
    return f"{seen} at least once (on average {percent(fmean(shares))} of a case's answers)"


def percent(share: float) -> str:
    """Return `7.1 %`."""
    return f"{100 * share:.1f} %"


def points(difference: float) -> str:
    """Return `10 points`, `7.1 points`."""
    return f"{100 * difference:.3g} points"


def effect_text(effect: float, interval: tuple[float, float]) -> str:
    """Return `+4.2 points [-3.1, +12.2]`."""
    return f"{100 * effect:+.1f} points [{100 * interval[0]:+.1f}, {100 * interval[1]:+.1f}]"


MOST_WORST: Final = 3
_NOW: Final = {"sentinel.empty": "now empty", "sentinel.off_topic": "now off the topic"}
Speaking: TypeAlias = "tuple[float, str, VerdictRow | None, VerdictRow]"  # how much, the case, before and after


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was measured of a property.

    `check` has its numbers and a reason without its status; a status that is not `inconclusive` is final. `proven` says
    that everything it asks for is within the tolerance, `harmless` that the effect whose p-value this is is, so that it
    fails nothing. `smallest` and `settle` tell, for the level of a single test, the smallest effect that would have
    been found and how many more cases would settle it; `calls` is what a case costs, and `repeat` the calls of another
    repetition that is missing. `advice` says what an inconclusive property lacks, `fault` what a failed one does.
    """

    check: PropertyCheck
    proven: bool = False
    harmless: bool = False
    advice: str = ""
    fault: str = "more than chance explains"
    smallest: Callable[[float], float | None] | None = None
    settle: Callable[[float], int | None] | None = None
    calls: float = 1.0
    repeat: int = 0


def missing(name: str, criterion: str, reason: str, *, asked: int = 0, cases: int = 0) -> Finding:
    """Return a property that was not checked, and why."""
    check = PropertyCheck(name=name, criterion=criterion, status="not_checked", reason=reason, asked=asked, cases=cases)
    return Finding(check=check)


def worst_cases(speaking: Sequence[Speaking]) -> tuple[WorstCase, ...]:
    """Return the cases that speak loudest against the judge, those of the same weight by name."""
    chosen = sorted((one for one in speaking if one[0] > 0), key=lambda one: (-one[0], one[1]))[:MOST_WORST]
    return tuple(
        WorstCase(
            case_id=case,
            before="-" if before is None else verdict_text(before.verdict),
            after=_after(before, after),
            perturbation=after.perturbation,
            raw=after.raw,
        )
        for _, case, before, after in chosen
    )


def _after(before: VerdictRow | None, after: VerdictRow) -> str:
    """Return what was answered; where that is what was answered before, also why it speaks against the judge."""
    if not after.ok:
        return after.outcome
    verdict = verdict_text(after.verdict)
    if before is None or verdict != verdict_text(before.verdict):
        return verdict
    probe = probe_name(after.perturbation)
    return f"{verdict}, {'a copy of it' if probe is None else _unmoved(verdict, probe.property, probe.side)}"


def _unmoved(verdict: str, name: str, side: Side | None) -> str:
    """Return why an answer to a probe should have been another one than that to the case as it is."""
    if name == "sentinel.copy":
        return "though both are now the same"
    now = _NOW.get(name, "now changed")
    if side is None:
        return f"though {now}"
    return f"{now}, still wins" if verdict == side.upper() else f"though {side.upper()} is {now}"


def above_finding(
    shares: Mapping[str, float],
    *,
    name: str,
    criterion: str,
    tolerance: float,
    told: str,
    asked: int,
    valid: int,
    calls: float = 1.0,
    speaking: Sequence[Speaking] = (),
) -> Finding:
    """Return what was found of an event that must be rare.

    Args:
        shares: case -> share of its samples with the event; at least one case.
        name: the property.
        criterion: the criterion.
        tolerance: largest share that passes.
        told: what was seen, with its denominator: `3 of 48 cases had a winner`.
        asked: samples.
        valid: those of them that are verdicts.
        calls: what one more case costs.
        speaking: the samples with the event.

    """
    cases, hits = len(shares), sum(shares[case] for case in sorted(shares))
    rate, interval = hits / cases, clopper_pearson(hits, cases)
    check = PropertyCheck(
        name=name,
        criterion=criterion,
        status="inconclusive",
        reason=f"{told}: {percent(rate)} [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]",
        tolerance=tolerance,
        cases=cases,
        asked=asked,
        valid=valid,
        hits=whole_hits(shares.values()),
        rate=rate,
        interval=interval,
        p_value=above_test(hits, cases, tolerance),
        worst=worst_cases(speaking),
    )
    return Finding(
        check=check,
        proven=interval[1] <= tolerance,
        advice=f"neither within {percent(tolerance)} nor clearly above",
        fault=f"above {percent(tolerance)}, not by chance",
        smallest=lambda alpha: smallest_above(cases, tolerance, alpha=alpha),
        settle=lambda alpha: cases_to_settle_above(cases, rate=rate, share=tolerance, alpha=alpha),
        calls=calls,
    )


def hit_shares(groups: Mapping[str, Sequence[VerdictRow]], hit: Callable[[VerdictRow], bool]) -> dict[str, float]:
    """Return case -> share of its samples with the event."""
    return {case: sum(map(hit, rows)) / len(rows) for case, rows in groups.items()}


_SEEN: Final = 0.0005  # a difference that shows in per cent with one decimal
_OFTEN: Final = 2  # as often as elsewhere: failures that hang on a change


def repetition(samples: Samples, *, tolerance: float) -> Finding:
    """Return whether repetitions of one question disagree: 1 - agreement, the mean over what a case was asked."""
    shares: dict[str, list[float]] = {}
    speaking: list[Speaking] = []
    calls = 0
    for name, places in sorted(samples.placed.items()):
        for (case, _), rows in places.items():
            if len(rows) > 1 and not is_probe(name):
                calls += len(rows)
                unlike = _unlike(samples, rows)
                share = len(unlike) / math.comb(len(rows), 2)
                shares.setdefault(case, []).append(share)
                speaking += [(share, case, *pair) for pair in unlike[:1]]
    if not shares:
        reason = "every repetition is a copy of the first answer" if samples.copies else UNREPEATED
        return missing("repetition", samples.criterion, reason)
    ever = of_text(sum(any(found) for found in shares.values()), len(shares))
    return above_finding(
        {case: sum(found) / len(found) for case, found in shares.items()},
        name="repetition",
        criterion=samples.criterion,
        tolerance=tolerance,
        told=f"{ever} got another verdict at least once when asked again; pairs of answers to one case that differ",
        asked=calls,
        valid=calls,
        calls=calls / len(shares),
        speaking=_one_each(speaking),
    )


def _unlike(samples: Samples, rows: Sequence[VerdictRow]) -> list[tuple[VerdictRow, VerdictRow]]:
    """Return the pairs of samples whose verdicts differ."""
    return [pair for pair in combinations(rows, 2) if samples.differ(pair[0].verdict, pair[1].verdict)]


def _one_each(speaking: list[Speaking]) -> list[Speaking]:
    """Return what speaks loudest of each case."""
    loudest: dict[str, Speaking] = {}
    for one in speaking:
        if one[1] not in loudest or one[0] > loudest[one[1]][0]:
            loudest[one[1]] = one
    return list(loudest.values())


def failing(samples: Samples, name: str, outcome: Outcome, *, told: str, tolerance: float) -> Finding:
    """Return how often answers fail in one way; errors of infrastructure are none of the judge's answers."""
    groups: dict[str, list[VerdictRow]] = {}
    for row in samples.voting():
        groups.setdefault(row.case_id, []).append(row)
    if not groups:
        return missing(name, samples.criterion, "no answer about the cases as they are")
    every = [row for rows in groups.values() for row in rows]
    failed = [row for row in every if row.outcome == outcome]
    change = _concentrated(every, failed)
    shares = hit_shares(groups, lambda row: row.outcome == outcome)
    mean = sum(shares.values()) / len(shares)
    seen = f"{of_text(len(failed), len(every), 'answer')} about {counted(len(groups), 'case')} {told}"
    uneven = ", on average of a case" if abs(mean - len(failed) / len(every)) > _SEEN else ""
    return above_finding(
        shares,
        name=name,
        criterion=samples.criterion,
        tolerance=tolerance,
        told=f"{seen}{'' if change is None else _where(change, failed)}{uneven}",
        asked=len(every),
        valid=sum(row.ok for row in every),
        calls=len(every) / len(groups),
        speaking=_failures(samples, shares, [row for row in failed if change in {None, _change(row)}]),
    )


def _concentrated(every: Sequence[VerdictRow], failed: Sequence[VerdictRow]) -> str | None:
    """Return the change under which most failures are, at least twice as often as elsewhere; None where they spread."""
    asked, failures = Counter(map(_change, every)), Counter(map(_change, failed))
    if not failures or len(asked) == 1:
        return None
    change = min(failures, key=lambda one: (-failures[one], one))
    inside, outside = failures[change], len(failed) - failures[change]
    often = inside * (len(every) - asked[change]) >= _OFTEN * outside * asked[change]
    return change if inside > outside and often else None


def _where(change: str, failed: Sequence[VerdictRow]) -> str:
    """Return `, 50 of the 53 under slot_names`."""
    inside = sum(_change(row) == change for row in failed)
    place = "with nothing changed" if change == UNCHANGED else f"under {change}"
    if len(failed) == 1:
        return f", {place}"
    return f", {inside} of the {len(failed)} {place}" if inside < len(failed) else f", all of them {place}"


def _change(row: VerdictRow) -> str:
    """Return what was changed: a perturbation in whatever order, else the order alone."""
    change = base_perturbation(row)
    return row.perturbation if change == UNCHANGED else change


def _failures(samples: Samples, shares: Mapping[str, float], failed: Sequence[VerdictRow]) -> list[Speaking]:
    """Return a failed answer of each case, beside the verdict of the case as it is if the failed one is of a change."""
    first = {row.case_id: row for row in reversed(failed)}
    return [(shares[case], case, _as_it_is(samples, row), row) for case, row in first.items()]


def _as_it_is(samples: Samples, row: VerdictRow) -> VerdictRow | None:
    if _change(row) == UNCHANGED:
        return None
    return next(iter(samples.unchanged.get((row.case_id, False), ())), None)


_FROZEN: Final = "temperature 0"
_LONG: Final = "identical long texts"  # which temperature 0 explains


def collapse(samples: Samples, *, temperature: float | None) -> Finding:
    """Return whether repetitions are proven copies; at temperature 0 they measure nothing, which is no fault."""
    cases: dict[str, list[VerdictRow]] = {}
    for row in samples.voting():
        cases.setdefault(row.case_id, []).append(row)
    found = {case: independence(rows, temperature=temperature) for case, rows in cases.items()}
    repeated = {case: one for case, one in found.items() if one.status != "not repeated"}
    if not repeated:
        return missing("collapse", samples.criterion, UNREPEATED)
    excused = {_FROZEN, _LONG} if temperature == 0 else {_FROZEN}
    copied = {case: one for case, one in repeated.items() if set(one.evidence) - excused}
    own = [case for case, one in repeated.items() if one.status == "independent" or _own_answers(cases[case])]
    status, reason = _judged(repeated, copied, own)
    check = PropertyCheck(
        name="collapse",
        criterion=samples.criterion,
        status=status,
        reason=reason,
        cases=len(repeated),
        asked=sum(len(cases[case]) for case in repeated),
        valid=sum(row.ok for case in repeated for row in cases[case]),
        hits=len(copied),
        rate=len(copied) / len(repeated),
        worst=worst_cases([_speaking(case, cases[case], one) for case, one in copied.items()]),
    )
    return Finding(check=check, proven=status == "pass")


def _judged(
    repeated: dict[str, Independence], copied: dict[str, Independence], own: Sequence[str]
) -> tuple[Status, str]:
    if copied:
        evidence = Counter(reason for one in copied.values() for reason in one.evidence)
        told = ", ".join(f"{reason} in {count}" for reason, count in sorted(evidence.items()))
        return "fail", f"in {of_text(len(copied), len(repeated))} repetitions are copies of one answer ({told})"
    frozen = sum(_FROZEN in one.evidence or _LONG in one.evidence for one in repeated.values())
    if frozen:
        return (
            "inconclusive",
            f"{of_text(frozen, len(repeated))} repeat themselves at temperature 0, which measures nothing",
        )
    if own:
        return "pass", f"in {of_text(len(own), len(repeated))} repetitions are answers of their own, in none a copy"
    return (
        "inconclusive",
        f"of {len(repeated)} repeated cases none shows whether its answers were drawn anew: short ones agree by chance",
    )


def _own_answers(rows: Sequence[VerdictRow]) -> bool:
    """Whether every answer came with a response id of its own, or two to one question are not the same."""
    valid = [row for row in rows if row.ok]
    found = [row.attributes.get("response_id") for row in valid]
    if None not in found and len(set(found)) == len(found):
        return True
    asked = {row.perturbation for row in valid}
    return len({(row.perturbation, row.verdict) for row in valid}) > len(asked)


def _speaking(case: str, rows: Sequence[VerdictRow], found: Independence) -> Speaking:
    valid = [row for row in rows if row.ok]
    return len(valid) - found.effective, case, valid[0], valid[-1]
