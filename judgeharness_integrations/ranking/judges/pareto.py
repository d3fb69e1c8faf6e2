"""Which judges nothing beats at their price: no other is as good for less, or better for the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.ranking.judges.plainrecord import plain_record

__all__ = ["ParetoPoint", "pareto"]


@dataclass(frozen=True, kw_only=True)
class ParetoPoint:
    """A judge at `x` (tokens or money, little is good) and `y` (Elo or accuracy, much is good)."""

    judge: str
    x: float
    y: float
    on_front: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the point as JSON keeps it."""
        return plain_record(self)


def pareto(points: Mapping[str, tuple[float, float]]) -> tuple[ParetoPoint, ...]:
    """Return judges by rising x, then falling y, with the front marked.

    A judge is on the front where no other has at most its x and at least its y, one of them better. Judges at the
    same point are on it together.

    Raises:
        UsageError: a coordinate is not finite.

    """
    for judge, place in points.items():
        if not all(map(math.isfinite, place)):
            raise UsageError(f"judge {judge!r} has no finite place {place}: leave it out.")
    best, front_x = -math.inf, math.nan
    found: list[ParetoPoint] = []
    for judge, (x, y) in sorted(points.items(), key=lambda item: (item[1][0], -item[1][1], item[0])):
        on_front = y > best or (y == best and x == front_x)
        if on_front:
            best, front_x = y, x
        found.append(ParetoPoint(judge=judge, x=x, y=y, on_front=on_front))
    return tuple(found)
