"""Two ratings of the same judges, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgeharness_integrations.ranking.comparing.correlation import RankCorrelation, correlate
from judgeharness_integrations.ranking.credits import Credits
from judgeharness_integrations.ranking.eip import EipOptions
from judgeharness_integrations.ranking.rating import Method, rate

__all__ = ["Comparison", "RatedSide", "compare"]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Ratings x and y of each judge that has both, on all data (`group` None) or on the pairs of one group.

    Without points `correlation` is None, and `reason` says why. `left_out`: judges that only one of the two rates.
    """

    name: str
    x_label: str
    y_label: str
    group: str | None
    points: tuple[tuple[str, float, float], ...]
    correlation: RankCorrelation | None
    reason: str | None
    left_out: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON keeps it."""
        return {
            "name": self.name,
            "x_label": self.x_label,
            "y_label": self.y_label,
            "group": self.group,
            "judges": len(self.points),
            "left_out": self.left_out,
            "points": [list(point) for point in self.points],
            "correlation": None if self.correlation is None else self.correlation.to_dict(),
            "reason": self.reason,
        }


@dataclass(frozen=True, kw_only=True)
class RatedSide:
    """One side of a comparison: the credits of each group (None: all data), or why there are none."""

    label: str
    credits: Mapping[str | None, Credits]
    method: Method = "bradley-terry"
    reason: str | None = None

    def scores(self, group: str | None, eip_options: EipOptions | None) -> tuple[dict[str, float], str | None]:
        """Return judge -> rating, or why there is none."""
        if self.reason is not None:
            return {}, self.reason
        if group not in self.credits:
            return {}, f"no pair of {group!r} is left for {self.label!r}"
        rating = rate(self.credits[group], methods=(self.method,), eip_options=eip_options)
        found = rating.scores(self.method)
        return found, None if found else rating.reasons[self.method]


def compare(name: str, x: RatedSide, y: RatedSide, *, eip_options: EipOptions | None = None) -> tuple[Comparison, ...]:
    """Return the comparison on all data, then on each group that either side has, sorted by name."""
    groups = sorted({group for side in (x, y) for group in side.credits if group is not None})
    return tuple(_compared(name, x, y, group, eip_options) for group in (None, *groups))


def _compared(name: str, x: RatedSide, y: RatedSide, group: str | None, eip_options: EipOptions | None) -> Comparison:
    (first, why_first), (second, why_second) = (side.scores(group, eip_options) for side in (x, y))
    names = [judge for judge in first if judge in second]
    reason = why_first or why_second or (None if names else "no judge is rated by both")
    return Comparison(
        name=name,
        x_label=x.label,
        y_label=y.label,
        group=group,
        points=tuple((judge, first[judge], second[judge]) for judge in names),
        correlation=correlate(first, second, labels=(x.label, y.label), group=group) if names else None,
        reason=reason,
        left_out=0 if reason else len(first) + len(second) - 2 * len(names),
    )
