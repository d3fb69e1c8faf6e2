"""How precise a mean over cases is, and how many cases a wanted precision takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from scipy.special import stdtrit

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.planning.components import Components

__all__ = ["MOST_CASES", "Goal"]

MOST_CASES: Final = 10_000_000
_FEWEST: Final = 2
_UPPER: Final = 0.975


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What is wanted of the mean over cases, in units of the score or as a share.

    Args:
        kind: `width`: of the 95 % interval, from end to end; `difference`: between two systems judged the same way,
            to be found by a two-sided 5 % test.
        value: how much.
        paired: both systems are judged on the same cases.
        correlation: of the two systems' true values over the same cases: what of the variance between cases pairing
            takes away. It is assumed, not measured.
        power: probability of finding the difference.

    """

    kind: Literal["width", "difference"] = "width"
    value: float = 0.1
    paired: bool = True
    correlation: float = 0.5
    power: float = 0.8

    def __post_init__(self) -> None:
        """Refuse what cannot be reached or means nothing."""
        if not (math.isfinite(self.value) and self.value > 0):
            raise UsageError(f"a wanted {self.kind} must be above 0, not {self.value:g}.")
        if not 0 <= self.correlation <= 1:
            raise UsageError(f"correlation must lie between 0 and 1, not {self.correlation:g}.")
        if not 0 < self.power < 1:
            raise UsageError(f"power must lie between 0 and 1, not {self.power:g}.")

    @property
    def systems(self) -> int:
        """How many systems are judged: two where a difference is wanted."""
        return 2 if self.kind == "difference" else 1

    def variance(self, components: Components, *, perturbations: int, repetitions: int) -> float:
        """Return the variance that one case brings to the mean, or to the difference of two means."""
        samples = components.of_samples(perturbations=perturbations, repetitions=repetitions)
        return self._scaled(components.cases, samples)

    def floor(self, components: Components) -> float:
        """Return what is left of that variance however often a case is asked."""
        return self._scaled(components.cases, 0.0)

    def _scaled(self, cases: float, samples: float) -> float:
        if self.kind == "width":
            return cases + samples
        return 2 * (samples + cases * (1 - self.correlation if self.paired else 1.0))

    def reached(self, variance: float, cases: int) -> float | None:
        """Return the width, or the smallest difference found, with that many cases; None below two.

        Student's quantiles: width 2 t(.975) se, difference (t(.975) + t(power)) se, which is slightly cautious.
        """
        if cases < _FEWEST:
            return None
        freedom = cases - 1 if self.kind == "width" or self.paired else 2 * cases - 2
        factor = stdtrit(freedom, _UPPER) + stdtrit(freedom, _UPPER if self.kind == "width" else self.power)
        return float(factor) * math.sqrt(variance / cases)

    def cases(self, variance: float) -> int | None:
        """Return how many cases reach the goal (for an unpaired difference: of each system); None beyond 10 million."""
        low, high = _FEWEST - 1, _FEWEST
        while not self._met(variance, high):
            low, high = high, 2 * high
            if high > MOST_CASES:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._met(variance, middle) else (middle, high)
        return high

    def _met(self, variance: float, cases: int) -> bool:
        reached = self.reached(variance, cases)
        return reached is not None and reached <= self.value
