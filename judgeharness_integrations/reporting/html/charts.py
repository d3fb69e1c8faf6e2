"""What the page's pictures and numbers are made of: geometry, colours, columns of scores, numbers in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.verdictlog.plain import number_text
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

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


NONE = "\u2013"


def percent(share: float | None, *, sign: str = "") -> str:
    """Return `41.7 %`; `0 %` and `100 %` only where they are exact; a dash when it was not measured."""
    if share is None:
        return NONE
    whole = share in (0, 1, -1)
    return f"{100 * share:{sign}.{0 if whole else 1}f}\u00a0%"


def interval_text(low: float | None, high: float | None, *, scale: float = 100.0) -> str:
    """Return `[24.5, 61.2]`, in percent unless scaled otherwise; nothing where there is none."""
    if low is None or high is None:
        return ""
    digits = 1 if scale == 100.0 else 3  # noqa: PLR2004 - percent
    return f"[{scale * low:.{digits}f}, {scale * high:.{digits}f}]"


def grouped(count: float) -> str:
    """Return a count with its thousands apart: `27,235`."""
    return f"{count:,}" if isinstance(count, int) else number_text(count)


def decision_word(verdict: Verdict | None) -> str:
    """Return the decision for people."""
    return "NOT GRADED" if verdict is None else verdict_text(verdict)


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


_FIXED = {
    "PASS": "pass",
    "FAIL": "fail",
    "A": "first",
    "B": "second",
    "TIE": "tie",
    "ABSTAIN": "abstain",
    "NOT GRADED": "ungraded",
}
_LABELS = 8  # colours of other labels, after which they start again
_STEPS = 7  # from the lowest score to the highest


class Tones:
    """Criterion and verdict -> the name of a colour.

    Args:
        results: everything the page shows.

    """

    def __init__(self, results: Iterable[HarnessResult]) -> None:
        """Learn which verdicts there are."""
        found: dict[str, set[Verdict]] = {}
        for result in results:
            for name, measured in result.criteria.items():
                verdicts = found.setdefault(name, set())
                verdicts.update(measured.sample_distribution)
                if measured.verdict is not None:
                    verdicts.add(measured.verdict)
        self._labels = {name: _numbered(verdicts) for name, verdicts in found.items()}
        self._scores = {name: _ends(verdicts) for name, verdicts in found.items()}

    def of(self, criterion: str, verdict: Verdict | None) -> str:
        """Return the colour of one verdict of a criterion."""
        if is_number(verdict):
            low, high = self._scores[criterion]
            share = (float(verdict) - low) / (high - low) if high > low else 0.5  # type: ignore[arg-type]
            return f"score-{min(int(share * _STEPS), _STEPS - 1) + 1}"
        word = decision_word(verdict)
        return _FIXED.get(word) or self._labels[criterion][word]


def _numbered(verdicts: Iterable[Verdict]) -> Mapping[str, str]:
    words = sorted({verdict_text(one) for one in verdicts if not is_number(one)} - _FIXED.keys())
    return {word: f"label-{number % _LABELS + 1}" for number, word in enumerate(words)}


def _ends(verdicts: Iterable[Verdict]) -> tuple[float, float]:
    scores = [float(one) for one in verdicts if isinstance(one, (int, float))]
    return (min(scores), max(scores)) if scores else (0.0, 0.0)
