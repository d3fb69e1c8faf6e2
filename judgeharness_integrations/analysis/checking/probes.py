"""Adversarial probes: attacks that win a lost verdict, and sentinels whose verdict is known beforehand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import Final, Literal, TypeAlias

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.verdictlog.row import EXCHANGED, Side, VerdictRow, probe_name

from .excess import NOTHING_AS_IT_IS, Event, Lean, Stratum, excess_finding, excess_of, lean_finding, merged, strata_of
from .samples import Finding, Place, Samples, Speaking, above_finding, ever_text, hit_shares, missing

_DIGITS: Final = 2


def attacked(
    samples: Samples, name: str, rows: Mapping[Place, Sequence[VerdictRow]], *, tolerance: float, asked: int
) -> Finding:
    """Return whether an attack wins verdicts; where the attacked answer wins anyhow there is nothing to win."""
    if samples.kind == "labels":
        reason = "the verdicts are not A/B/TIE, PASS/FAIL or scores: what an attacker wants is not known"
        return missing(name, samples.criterion, reason, asked=asked)
    strata = list(strata_of(samples, rows))
    if not strata:
        return missing(name, samples.criterion, NOTHING_AS_IT_IS, asked=asked)
    strata, event = _sided(strata) if samples.kind == "pairwise" else _single(samples, strata)
    found = excess_of(strata, event)
    if found is None:
        reason = "the attacked answers win or rate highest without the attack: nothing could be gained"
        return missing(name, samples.criterion, reason, asked=asked)
    finding = excess_finding(
        found,
        name=name,
        samples=samples,
        tolerance=tolerance,
        told="flipped towards the attacker" if samples.kind != "scores" else "rose for the attacker",
        noun="attacked case",
        asked=asked,
        valid=sum(len(stratum.changed) for stratum in strata),
    )
    if samples.kind == "scores":
        finding = replace(finding, check=replace(finding.check, reason=f"{finding.check.reason}; {_rise(strata)}"))
    return _of_all_cases(finding, samples)


def _rise(strata: Sequence[Stratum]) -> str:
    """Return how far scores rose, be it within the tolerance or not."""
    told = f"scores rose by {_mean_rise((one.base, one.changed) for one in strata)} on average"
    repeated = [(one.base, one.again) for one in strata if one.again]
    return f"{told}, {_mean_rise(repeated)} when asked again" if repeated else told


def _mean_rise(pairs: Iterable[tuple[VerdictRow, Sequence[VerdictRow]]]) -> float:
    rise = fmean(fmean(map(_score, others)) - _score(base) for base, others in pairs)
    return round(rise, _DIGITS) + 0.0  # no -0.0


def _of_all_cases(finding: Finding, samples: Samples) -> Finding:
    """Return a finding whose missing cases are such as there are, of which some alone can be attacked.

    Each of them is asked as it is as often as those before, and attacked if it can be.
    """
    check, settle = finding.check, finding.settle
    bare = check.baseline is None  # there was no repetition yet: one more of every case
    share = check.cases / samples.cases
    some = "" if share == 1 else f"; about {check.cases} in {samples.cases} cases can be attacked"

    def of_all(alpha: float) -> int | None:
        attacked = None if settle is None else settle(alpha)
        return None if attacked is None else math.ceil(attacked / share)

    return replace(
        finding,
        advice=finding.advice + some,
        settle=of_all,
        calls=samples.calls_as_it_is + bare + check.valid / samples.cases,
        repeat=samples.cases if bare else 0,
    )


def _sided(strata: Sequence[Stratum]) -> tuple[list[Stratum], Event]:
    """Return the strata whose attacked answer did not win, and the event that it does."""
    wanted: dict[Place, str] = {}
    kept: list[Stratum] = []
    for one in strata:
        sides = {_side(row) for row in one.changed}
        loser = EXCHANGED.get(str(one.base.verdict)) or ("B" if "B" in sides else "A")
        changed = [row for row in one.changed if _side(row) == loser]
        if changed:
            wanted[one.base.case_id, one.base.swapped] = loser
            kept.append(Stratum(case=one.case, base=one.base, again=one.again, changed=changed))

    def event(base: VerdictRow, other: VerdictRow) -> bool:
        return other.verdict == wanted[base.case_id, base.swapped]

    return kept, event


def _side(row: VerdictRow) -> str:
    """Return the attacked answer as a verdict names it; empty where the row does not say."""
    found = probe_name(row.perturbation)
    return "" if found is None or found.side is None else found.side.upper()


def _single(samples: Samples, strata: Sequence[Stratum]) -> tuple[list[Stratum], Event]:
    """Return the strata that leave something to gain, and the event that it is gained."""
    if samples.kind == "graded":
        return [one for one in strata if one.base.verdict != "PASS"], lambda _, other: other.verdict == "PASS"
    top = max(_score(row) for row in samples.rows if row.ok)

    def rises(base: VerdictRow, other: VerdictRow) -> bool:
        return _score(other) > _score(base) and samples.differ(base.verdict, other.verdict)

    return [one for one in strata if samples.differ(one.base.verdict, top)], rises


def _score(row: VerdictRow) -> float:
    return row.verdict if isinstance(row.verdict, (int, float)) else float("nan")


_SLOTS: Final = {("A", False): 1, ("B", False): -1, ("A", True): -1, ("B", True): 1}


def losing(
    samples: Samples, name: str, rows: Mapping[Place, Sequence[VerdictRow]], *, tolerance: float, asked: int
) -> Finding:
    """Return how often a worthless answer does not lose."""
    hit = _survives(samples)
    if isinstance(hit, str):
        return missing(name, samples.criterion, hit, asked=asked)
    told = {"pairwise": "did not lose", "graded": "passed", "scores": "reached the median score of genuine answers"}
    split = _split(rows) if samples.kind == "pairwise" else ""
    said = {"noun": "worthless answer", "told": told[samples.kind], "split": split}
    return _shares(samples, name, rows, hit, tolerance=tolerance, asked=asked, **said)


def _survives(samples: Samples) -> Callable[[VerdictRow], bool] | str:
    """Return whether a worthless answer survives in a sample, or why that cannot be told."""
    if samples.kind == "pairwise":
        return _not_lost
    if samples.kind == "graded":
        return lambda row: row.verdict == "PASS"
    if samples.kind != "scores":
        return "the verdicts are not A/B/TIE, PASS/FAIL or scores: which of them is bad is not known"
    genuine = [
        row.verdict for group in samples.unchanged.values() for row in group if isinstance(row.verdict, (int, float))
    ]
    if not genuine:
        return "no scores of genuine answers to compare with"
    middle = median(genuine)
    return _bottom(samples, middle) or (lambda row: isinstance(row.verdict, (int, float)) and row.verdict >= middle)


def _bottom(samples: Samples, middle: float) -> str | None:
    """Return why no score is below that of genuine answers; None where one is, or could be."""
    if samples.lowest is not None:
        return (
            "genuine answers get the lowest score themselves: nothing is below it" if middle <= samples.lowest else None
        )
    if middle > min(row.verdict for row in samples.rows if isinstance(row.verdict, (int, float))):
        return None
    return "no score is below the median of genuine answers: whether one could be, a log does not say"


def _split(rows: Mapping[Place, Sequence[VerdictRow]]) -> str:
    """Return ` (won 3, tied 12)`, what worthless answers did that did not lose; nothing where all of them lost."""
    verdicts = [row.verdict for group in rows.values() for row in group if _not_lost(row)]
    tied = verdicts.count("TIE")
    return f" (won {len(verdicts) - tied}, tied {tied})" if verdicts else ""


def _not_lost(row: VerdictRow) -> bool:
    found = probe_name(row.perturbation)
    return found is not None and row.verdict != ("B" if found.side == "a" else "A")


def tying(
    samples: Samples, name: str, rows: Mapping[Place, Sequence[VerdictRow]], *, tolerance: float, asked: int
) -> Finding:
    """Return how often one of two equal answers wins; a judge that knows no tie must at least favour no slot."""
    if samples.kind != "pairwise":
        return missing(name, samples.criterion, "only of two answers one can be a copy of the other", asked=asked)
    if any(row.verdict == "TIE" for row in samples.rows):
        return _shares(
            samples, name, rows, lambda row: row.verdict != "TIE", tolerance=tolerance, asked=asked, told="had a winner"
        )
    leaning = {
        case: sum(_SLOTS[str(row.verdict), row.swapped] for row in group) for case, group in _by_case(rows).items()
    }
    first, second = sum(one > 0 for one in leaning.values()), sum(one < 0 for one in leaning.values())
    lean = Lean(cases=len(leaning), first=first, second=second)
    speaking = _speaking(samples, rows, lambda row: _SLOTS[str(row.verdict), row.swapped] * (first - second) > 0)
    told = (
        f"between equal answers, which it never calls a tie, the first slot won in {first} and the second in {second}"
    )
    finding = lean_finding(
        lean, name=name, criterion=samples.criterion, tolerance=tolerance, told=told, asked=asked, speaking=speaking
    )
    return replace(finding, calls=samples.calls_as_it_is + sum(map(len, rows.values())) / lean.cases)


def _shares(
    samples: Samples,
    name: str,
    rows: Mapping[Place, Sequence[VerdictRow]],
    hit: Callable[[VerdictRow], bool],
    *,
    tolerance: float,
    asked: int,
    told: str,
    noun: str = "case",
    split: str = "",
) -> Finding:
    groups = _by_case(rows)
    valid = sum(map(len, groups.values()))
    shares = hit_shares(groups, hit)
    return above_finding(
        shares,
        name=name,
        criterion=samples.criterion,
        tolerance=tolerance,
        told=ever_text(shares.values(), told, noun) + split,
        asked=asked,
        valid=valid,
        calls=samples.calls_as_it_is + valid / len(groups),  # asked as it is, too: who wins is to be known
        speaking=_speaking(samples, rows, hit),
    )


def _by_case(rows: Mapping[Place, Sequence[VerdictRow]]) -> dict[str, list[VerdictRow]]:
    groups: dict[str, list[VerdictRow]] = {}
    for place in sorted(rows):
        groups.setdefault(place[0], []).extend(rows[place])
    return groups


def _speaking(
    samples: Samples, rows: Mapping[Place, Sequence[VerdictRow]], hit: Callable[[VerdictRow], bool]
) -> list[Speaking]:
    """Return the cases with the event, each with the first sample that shows it beside the case as it is."""
    first: dict[str, Speaking] = {}
    for place in sorted(rows):
        base = next(iter(samples.unchanged.get(place, ())), None)
        shown = [row for row in rows[place] if hit(row)]
        if shown:
            first.setdefault(place[0], (len(shown) / len(rows[place]), place[0], base, shown[0]))
    return list(first.values())


Expected: TypeAlias = Literal["must_not_change", "must_lose", "must_tie"]
_EXPECTATIONS: Final[Mapping[str, Expected]] = {
    "sentinel.empty": "must_lose",
    "sentinel.off_topic": "must_lose",
    "sentinel.copy": "must_tie",
}
_MEASURES: Final = {"must_not_change": attacked, "must_lose": losing, "must_tie": tying}


def probe_property(perturbation: str) -> str | None:
    """Return the property of a probe's rows; None where there is no probe."""
    found = probe_name(perturbation)
    return None if found is None else found.property


def probed(samples: Samples, name: str, *, tolerance: float, expectations: Mapping[str, Expected]) -> Finding:
    """Return what was found of one probe; `expectations` speak of a property or of a whole family."""
    asked = sum(count for perturbation, count in samples.asked.items() if probe_property(perturbation) == name)
    if not asked:
        return missing(name, samples.criterion, f"no sample of the probe {name}")
    names = [each for each in sorted(samples.placed) if probe_property(each) == name]
    if not names:
        return missing(name, samples.criterion, f"none of {asked} answers to the probe is a verdict", asked=asked)
    family = name.split(".", 1)[0]
    expected = expectations.get(name) or expectations.get(family) or _EXPECTATIONS.get(name, "must_not_change")
    if samples.kind == "pairwise" and expected != "must_tie" and not all(map(_changed_side, names)):
        reason = f"its rows do not say which answer was changed: name it, as in probe:{name}(b)"
        return missing(name, samples.criterion, reason, asked=asked)
    return _MEASURES[expected](samples, name, merged(samples, names), tolerance=tolerance, asked=asked)


def checked_expectations(expectations: Mapping[str, Expected]) -> Mapping[str, Expected]:
    """Return expectations as they are.

    Raises:
        UnknownNameError: there is no such expectation.

    """
    for expected in expectations.values():
        if expected not in _MEASURES:
            raise UnknownNameError("expectation", expected, _MEASURES)
    return expectations


def _changed_side(perturbation: str) -> Side | None:
    found = probe_name(perturbation)
    return None if found is None else found.side
