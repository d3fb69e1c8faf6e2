"""The geometry of the page's pictures, in percent of their width: bars of counts, values with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judgeharness_integrations.reporting.html.wording import percent

__all__ = ["Bar", "Segment", "Whisker", "bar", "whisker"]


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One part of a bar: where it starts and how wide it is, in percent of the bar."""

    label: str
    count: int
    share: str
    tone: str
    x: str
    width: str


@dataclass(frozen=True, kw_only=True)
class Bar:
    """Counts side by side that add up to `total`."""

    segments: tuple[Segment, ...]
    total: int

    @property
    def words(self) -> str:
        """What it shows, for those who do not see it."""
        return ", ".join(f"{one.count}\u00d7 {one.label}" for one in self.segments) or "none"


@dataclass(frozen=True, kw_only=True)
class Whisker:
    """A value on an axis, its interval (None: there is none) and a mark to compare it with, in percent of the axis."""

    at: str
    low: str | None = None
    high: str | None = None
    mark: str | None = None


def bar(counts: Iterable[tuple[str, int, str]]) -> Bar:
    """Return the bar of (label, count, tone), without empty parts."""
    kept = [one for one in counts if one[1]]
    total, segments, before = sum(count for _, count, _ in kept), list[Segment](), 0
    for label, count, tone in kept:
        place, width = _percent(before / total), _percent(count / total)
        segments.append(
            Segment(label=label, count=count, share=percent(count / total), tone=tone, x=place, width=width)
        )
        before += count
    return Bar(segments=tuple(segments), total=total)


def whisker(
    value: float,
    low: float | None = None,
    high: float | None = None,
    *,
    mark: float | None = None,
    axis: Sequence[float] = (0.0, 1.0),
) -> Whisker:
    """Return where a value, its interval and a mark stand on an axis from its first to its second end."""
    start, span = axis[0], (axis[1] - axis[0]) or 1.0

    def place(number: float | None) -> str | None:
        return None if number is None else _percent(min(max((number - start) / span, 0.0), 1.0))

    return Whisker(at=str(place(value)), low=place(low), high=place(high), mark=place(mark))


def _percent(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"
