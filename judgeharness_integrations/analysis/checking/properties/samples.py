"""The rows of one judge and criterion by change, case and order, and a property as far as they tell it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Literal, TypeAlias

from judgeharness_integrations.analysis.aggregation.grouping import is_numeric
from judgeharness_integrations.analysis.aggregation.position import base_perturbation
from judgeharness_integrations.analysis.aggregation.statistics import response_of, within
from judgeharness_integrations.analysis.checking.report import PropertyCheck, WorstCase
from judgeharness_integrations.analysis.checking.statistics import cases_to_settle_above, smallest_above
from judgeharness_integrations.analysis.statistics.proportions import above_test, clopper_pearson
from judgeharness_integrations.verdictlog.plain import counted
from judgeharness_integrations.verdictlog.row import Side, Verdict, VerdictRow, is_probe, probe_name, verdict_text

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
    fault: str = "more than chance makes"
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
        told: what was seen, with its denominator: `3 of 48 cases did not lose`.
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
