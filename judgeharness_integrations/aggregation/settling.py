"""Can the samples still to come change a decision, and how many of them at least would settle it?"""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from judgeharness_integrations.verdictlog.row import LARGEST_SCORE, Verdict

__all__ = ["Median", "NetPreference", "Plurality", "Settling", "first_true"]


class Settling(Protocol):
    """One rule over the samples so far, once there are enough valid ones for a verdict."""

    @property
    def refused(self) -> bool:
        """Whether the rule grades no completion at all."""
        ...

    @property
    def settled(self) -> bool:
        """Whether every completion gives the same status and verdict."""
        ...

    def fewest(self, missing: int) -> int:
        """Return the fewest further samples, at least `missing` of them valid, after which it can be settled.

        Only meaningful while it is not settled; may exceed the samples left.
        """
        ...


def first_true(holds: Callable[[int], bool], most: int) -> int:
    """Return the least n of 1 .. `most` at which a condition that never turns false again holds; `most` if none."""
    return 1 + bisect_left(range(1, most), 1, key=holds)


@dataclass(frozen=True)
class Plurality:
    """A rule that decides for the only most frequent verdict if at least `least` samples gave it, else abstains.

    `first` and `second` are the two highest counts, `left` the samples to come.
    """

    first: int
    second: int
    left: int
    least: int = 1
    refused: bool = False

    @classmethod
    def of(cls, verdicts: Sequence[Verdict], left: int, least: int) -> Plurality:
        """Return the state after these valid samples."""
        counts = sorted(Counter(verdicts).values(), reverse=True)
        first, second = (*counts, 0, 0)[:2]
        return cls(first, second, left, least)

    @property
    def settled(self) -> bool:
        """Whether the leader cannot be caught, or no verdict can become frequent enough."""
        won = self.first >= self.least and self.first > self.second + self.left
        return won or self.first + self.left < self.least

    def fewest(self, missing: int) -> int:
        """Return the samples it takes when all of them give the leader, or each another new label."""
        won = max(self.least - self.first, (self.second + self.left - self.first) // 2 + 1)
        lost = max(self.first, 1) + self.left - self.least + 1
        return max(missing, min(won, lost))


@dataclass(frozen=True)
class NetPreference:
    """The sign of a sum of +1, -1 and 0; answers without a side were turned away before."""

    net: int
    left: int
    refused: bool = False

    @property
    def settled(self) -> bool:
        """Whether the side behind cannot even draw level."""
        return abs(self.net) > self.left

    def fewest(self, missing: int) -> int:
        """Return the samples it takes when all of them are for the side ahead."""
        return max(missing, (self.left - abs(self.net)) // 2 + 1)


@dataclass(frozen=True)
class Median:
    """The median of `scores` (ascending), turned into PASS or FAIL at `pass_at`.

    No completion takes it below the median with every sample to come at the lowest score, or above that with all of
    them at the highest. An odd and an even number of scores round differently, so both are looked at.
    """

    scores: Sequence[float]
    left: int
    pass_at: Fraction | None = None
    refused: bool = False

    @property
    def settled(self) -> bool:
        """Whether the extreme completions give the same verdict."""
        extremes = {self._verdict(low, many - low) for many in (self.left, self.left - 1) for low in (0, many)}
        return len(extremes) == 1

    def fewest(self, missing: int) -> int:
        """Return the samples it takes when all of them are the median (with `pass_at`: are extreme, on one side)."""
        if self.pass_at is None:
            return max(missing, self._furthest() - (len(self.scores) - self.left - 1) // 2)
        passed = first_true(lambda many: self._verdict(self.left - many, many) is True, self.left)
        failed = first_true(lambda many: self._verdict(many, self.left - many) is False, self.left)
        return max(missing, min(passed, failed))

    def _verdict(self, low: int, high: int) -> float | bool:
        center = statistics.median([-LARGEST_SCORE] * low + [*self.scores] + [LARGEST_SCORE] * high)
        return center if self.pass_at is None else Fraction(center) >= self.pass_at

    def _furthest(self) -> int:
        """Return how many scores lie on one side of the median at most."""
        many = len(self.scores)
        middle = [self.scores[(many - 1) // 2], self.scores[many // 2]] if many else []
        sides = (max(bisect_left(self.scores, y), many - bisect_right(self.scores, y)) for y in middle)
        return min(sides, default=0)
