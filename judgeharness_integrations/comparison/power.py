"""What a comparison could have found: power, the smallest change, and the cases a change takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from judgeharness_integrations.statistics.paired import (
    MOST_ITEMS,
    POWER,
    mcnemar_detectable,
    mcnemar_items,
    mcnemar_power,
)
from judgeharness_integrations.statistics.search import bisected

__all__ = ["POWER", "PowerBasis"]

_FAR: Final = 7.0  # standard errors from zero, where the noncentral t of scipy turns into NaN here and there
_HALVINGS: Final = 40


@dataclass(frozen=True, kw_only=True)
class PowerBasis:
    """What the power of the test of a difference follows from.

    Args:
        n: paired cases.
        level: what the test has to reach by itself within the report's family.
        exchange: McNemar's test: the share of cases that changes in either direction all the same.
        error: t-test: the standard error of the difference, infinite where so few clusters can show nothing; None for
            McNemar's test.
        degrees: t-test: its degrees of freedom.
        span: what a drop of 1 is, in units of the difference: 1 for shares, the range of the scores for means.

    """

    n: int
    level: float
    exchange: float = 0.0
    error: float | None = None
    degrees: float = 1.0
    span: float = 1.0

    def power(self, drop: float) -> float:
        """Return the probability that a drop (or rise) of this share of the span is found."""
        if self.error is None:
            exchange = min(self.exchange, (1 - drop) / 2)
            return mcnemar_power(self.n, drop, exchange=exchange, alpha=self.level, mid=True)
        return self._t_power(drop * self.span / self.error)

    def _t_power(self, distance: float) -> float:
        """Return the power of the t-test where the truth lies so many standard errors from zero.

        Far from zero by the normal approximation of the noncentral t (Johnson and Welch 1940).
        """
        from scipy.special import nctdtr, ndtr, stdtrit  # noqa: PLC0415 - a heavy import

        critical = float(stdtrit(self.degrees, 1 - self.level / 2))
        if distance > _FAR:
            spread = math.sqrt(1 + critical * critical / (2 * self.degrees))
            return float(ndtr((distance - critical * (1 - 1 / (4 * self.degrees))) / spread))
        return float(1 - nctdtr(self.degrees, distance, critical) + nctdtr(self.degrees, distance, -critical))

    def detectable(self) -> float | None:
        """Return the smallest change, in units of the difference, that is found with 80 % power; None if none is."""
        if self.error is None:
            return mcnemar_detectable(self.n, exchange=self.exchange, alpha=self.level, mid=True)
        low, high = 0.0, self.span / self.error
        if self._t_power(high) < POWER:
            return None
        return bisected(lambda distance: self._t_power(distance) < POWER, low, high, steps=_HALVINGS)[1] * self.error

    def cases(self, drop: float) -> int | None:
        """Return how many cases find a change of this share of the span with 80 % power; None beyond 100,000.

        Means: by normal approximation, from the spread that was seen.
        """
        if self.error is None:
            return mcnemar_items(drop, exchange=self.exchange, alpha=self.level, mid=True)
        from scipy.special import ndtri  # noqa: PLC0415 - a heavy import

        if math.isinf(self.error):
            return None
        z = float(ndtri(1 - self.level / 2) + ndtri(POWER))
        found = max(2, math.ceil(self.n * (z * self.error / (drop * self.span)) ** 2))
        return found if found <= MOST_ITEMS else None
