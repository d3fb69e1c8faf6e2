"""Attacks: does a change to the losing answer win it the verdict, more often than asking again does?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from judgeharness_integrations.checking.properties.excess import Event, Stratum, excess_finding, excess_of, strata_of
from judgeharness_integrations.checking.properties.finding import Finding, missing
from judgeharness_integrations.checking.properties.perturbed import NOTHING_AS_IT_IS
from judgeharness_integrations.checking.properties.samples import Place, Samples
from judgeharness_integrations.verdictlog.probenames import probe_name
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["attacked"]

_LOSER: Final = {"A": "B", "B": "A"}
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
        loser = _LOSER.get(str(one.base.verdict)) or ("B" if "B" in sides else "A")
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
