"""A lean to one slot: the exact McNemar test over cases, and Tango's interval of the net lean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judgeharness_integrations.aggregation.statistics import sign_test
from judgeharness_integrations.calibration.paired import tango_interval
from judgeharness_integrations.checking.properties.finding import Finding, Speaking, worst_cases
from judgeharness_integrations.checking.properties.words import effect_text, number_of, points
from judgeharness_integrations.checking.report import PropertyCheck
from judgeharness_integrations.checking.statistics.intervals import clopper_pearson
from judgeharness_integrations.checking.statistics.power import cases_to_settle_lean, smallest_lean

__all__ = ["Lean", "lean_finding"]


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
        """Its interval at 95 %."""
        return tango_interval(self.first, self.second, self.cases)

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
        reason=f"{told} of {number_of(lean.cases)}: net lean {effect_text(lean.effect, lean.interval)}",
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
