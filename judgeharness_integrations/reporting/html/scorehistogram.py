"""Decided scores as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from judgeharness_integrations.verdictlog.row import Verdict, verdict_text

__all__ = ["Column", "Histogram", "histogram"]

_MOST_STEPS, _RANGES = 40, 20
_FEWEST = 5  # columns are no wider than if there were so many
_OFF = 1e-6


@dataclass(frozen=True, kw_only=True)
class Column:
    """Scores of one value, or from `label` on; geometry in percent of the picture."""

    label: str
    count: int
    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Columns from the lowest to the highest score."""

    columns: tuple[Column, ...]
    low: str
    high: str
    tallest: int

    @property
    def words(self) -> str:
        """What it shows, for those who do not see it."""
        return ", ".join(f"{one.label}: {one.count}" for one in self.columns if one.count)


def histogram(verdicts: Mapping[Verdict, int]) -> Histogram | None:
    """Return the columns of scores and their counts; None without any.

    The axis is true: scores on a grid of at most 41 steps have a column a step, also where it is empty; others are
    counted in 20 ranges of one width.
    """
    counts = {float(score): count for score, count in verdicts.items()}  # type: ignore[arg-type]
    if not counts:
        return None
    low, high = min(counts), max(counts)
    steps = _on_grid(counts, low, high) or _ranges(counts, low, high)
    tallest = max(count for _, count in steps)
    width = 100 / max(len(steps), _FEWEST)
    before = (100 - width * len(steps)) / 2
    columns = tuple(
        Column(
            label=label,
            count=count,
            x=f"{before + place * width + width * 0.06:.2f}%",
            y=f"{100 - 100 * count / tallest:.2f}%",
            width=f"{width * 0.88:.2f}%",
            height=f"{100 * count / tallest:.2f}%",
        )
        for place, (label, count) in enumerate(steps)
    )
    return Histogram(columns=columns, low=verdict_text(low), high=verdict_text(high), tallest=tallest)


def _on_grid(counts: Mapping[float, int], low: float, high: float) -> list[tuple[str, int]]:
    """Return a column a step of the smallest distance between two scores; none where they lie on no such grid."""
    scores = sorted(counts)
    step = min((after - before for before, after in pairwise(scores)), default=1.0)
    number = (high - low) / step
    if number > _MOST_STEPS or any(abs((score - low) / step - round((score - low) / step)) > _OFF for score in scores):
        return []
    places = {round((score - low) / step): (verdict_text(score), counts[score]) for score in scores}
    return [places.get(place, (f"{low + place * step:.6g}", 0)) for place in range(round(number) + 1)]


def _ranges(counts: Mapping[float, int], low: float, high: float) -> list[tuple[str, int]]:
    width = high / _RANGES - low / _RANGES
    totals = [0] * _RANGES
    for score, count in counts.items():
        totals[min(int((score - low) / width), _RANGES - 1)] += count
    return [(f"{low + step * width:.4g} to", total) for step, total in enumerate(totals)]
