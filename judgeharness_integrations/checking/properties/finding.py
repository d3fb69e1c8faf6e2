"""A property as far as it can be measured before the other tests of the report are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from judgeharness_integrations.checking.report import PropertyCheck, WorstCase
from judgeharness_integrations.verdictlog.probenames import Side, probe_name
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_text

__all__ = ["MOST_WORST", "Finding", "Speaking", "missing", "worst_cases"]

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
