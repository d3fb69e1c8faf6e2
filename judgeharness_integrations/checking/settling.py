"""Findings of all properties -> their statuses: one level for the whole report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from judgeharness_integrations.aggregation.holm import holm
from judgeharness_integrations.checking.properties.finding import Finding
from judgeharness_integrations.checking.properties.position import holds_zero
from judgeharness_integrations.checking.properties.words import p_text
from judgeharness_integrations.checking.report import PropertyCheck

__all__ = ["settled"]

_FEW: Final = "significant, but in too few cases to speak of others: the interval of the effect holds 0"


def settled(findings: Sequence[Finding], *, alpha: float, foresee: bool = True) -> tuple[PropertyCheck, ...]:
    """Return every property with its status.

    What is proven to be within the tolerance passes, be it as significant as it may; what is not fails where its
    p-value, adjusted over all properties with one, is at most `alpha`, and the interval of its effect does not hold 0;
    the rest is inconclusive. The exact tests hold these cases fixed, so that three with many samples each can be
    enough; the intervals ask what other cases would do. To ask for both makes false alarms rarer, never more frequent.
    """
    tested = [place for place, one in enumerate(findings) if one.check.p_value is not None]
    adjusted = dict(zip(tested, holm([findings[place].check.p_value or 0.0 for place in tested]), strict=True))
    level = alpha / max(1, len(tested))
    findings = findings if foresee else [replace(one, smallest=None, settle=None) for one in findings]
    return tuple(_status(one, adjusted.get(place), alpha, level) for place, one in enumerate(findings))


def _status(found: Finding, adjusted: float | None, alpha: float, level: float) -> PropertyCheck:
    check = found.check
    if check.status != "inconclusive" or check.tolerance is None:
        return check
    smallest = None if found.smallest is None or adjusted is None else found.smallest(level)
    check = replace(check, adjusted_p=adjusted, smallest_effect=smallest)
    significant = "" if adjusted is None or adjusted > alpha else p_text(adjusted)
    if found.proven:
        beside = f"; there is an effect all the same ({significant})" if significant else ""
        return replace(check, status="pass", reason=check.reason + beside)
    if not significant or found.harmless:
        return _open(found, check, level)
    if holds_zero(check.effect_interval):
        return _open(replace(found, advice=f"{_FEW} ({significant})"), check, level, more=_beyond_zero(check))
    return replace(check, status="fail", reason=f"{check.reason}: {found.fault} ({significant})")


def _beyond_zero(check: PropertyCheck) -> int:
    """Return how many more cases move the interval of the effect off 0: its width falls with the root of the cases."""
    effect, (low, high) = check.effect or 0.0, check.effect_interval or (0.0, 0.0)
    near = effect - low if effect > 0 else high - effect
    return max(1, math.ceil(check.cases * ((near / effect) ** 2 - 1))) if effect else 1


def _open(found: Finding, check: PropertyCheck, level: float, *, more: int | None = None) -> PropertyCheck:
    """Return an inconclusive property with what would settle it: so many `more` cases, where that is known."""
    cases = None if found.settle is None else more or found.settle(level)
    calls = None if cases is None else math.ceil(cases * found.calls) + found.repeat
    return replace(check, reason=f"{check.reason}: {found.advice}", more_cases=cases, more_calls=calls)
