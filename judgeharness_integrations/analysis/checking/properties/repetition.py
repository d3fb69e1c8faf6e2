"""The same question again: do answers stay, can they be read, are any given at all?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from judgeharness_integrations.analysis.aggregation.position import base_perturbation
from judgeharness_integrations.analysis.aggregation.statistics import Independence, independence
from judgeharness_integrations.analysis.checking.properties.samples import (
    UNCHANGED,
    UNREPEATED,
    Finding,
    Samples,
    Speaking,
    above_finding,
    hit_shares,
    missing,
    of_text,
    worst_cases,
)
from judgeharness_integrations.analysis.checking.report import PropertyCheck, Status
from judgeharness_integrations.verdictlog.plain import counted
from judgeharness_integrations.verdictlog.row import Outcome, VerdictRow, is_probe

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
        worst=worst_cases([_shown(case, cases[case], one) for case, one in copied.items()]),
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


def _shown(case: str, rows: Sequence[VerdictRow], found: Independence) -> Speaking:
    valid = [row for row in rows if row.ok]
    return len(valid) - found.effective, case, valid[0], valid[-1]
