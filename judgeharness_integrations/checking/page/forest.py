"""The picture of a check: every property with its effect and interval on one axis, and how far a pass may reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.checking.page.words import TONES, deciding_end, effect_text, gloss, shown, status_word
from judgeharness_integrations.reporting.html.charts import whisker

if TYPE_CHECKING:
    from judgeharness_integrations.checking.report import PropertyCheck
    from judgeharness_integrations.reporting.html.charts import Whisker

__all__ = ["Axis", "ForestGroup", "ForestRow", "Tick", "axis_of", "forest"]

_STEPS: Final = (0.05, 0.1, 0.25, 0.5)
_TICKS: Final = 6
_ITSELF: Final = ("repetition", "collapse", "parse_rate", "refusals")
_TWO_SIDED: Final = frozenset({"position", "sentinel.copy"})  # a lean to either side is one
_CHANGES, _OF_ITSELF, _ATTACKS, _SENTINELS = (
    "Changes that must not matter",
    "The judge by itself",
    "Attacks in an answer",
    "Answers whose verdict is known",
)


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A number on the axis, in points, and where it stands."""

    x: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis for everything on a page, in shares."""

    low: float
    high: float
    ticks: tuple[Tick, ...]
    zero: str


@dataclass(frozen=True, kw_only=True)
class ForestRow:
    """A property on the axis: what there is to draw, and the same in words.

    The mark of `mark` is the smallest effect that would have been found; `band` and `width` are how far a pass reaches;
    `end` is where the interval of the rate ends, of a property that passes by that.
    """

    name: str
    gloss: str
    status: str
    tone: str
    effect: str
    interval: str
    mark: Whisker | None
    band: str
    width: str
    end: str | None

    @property
    def words(self) -> str:
        """The picture for those who do not see it."""
        by_rate = "" if self.end is None else "; the interval of the rate ends within the tolerance"
        return f"{self.name}: {self.status}, {self.effect} points {self.interval}{by_rate}"


@dataclass(frozen=True, kw_only=True)
class ForestGroup:
    """Properties of one kind."""

    title: str
    rows: tuple[ForestRow, ...]

    @property
    def by_rate(self) -> bool:
        """Whether a rate decides for one of them."""
        return any(row.end is not None for row in self.rows)


def axis_of(checks: Iterable[PropertyCheck]) -> Axis:
    """Return the axis that shows every effect, interval and tolerance."""
    values = [0.0, *(value for one in checks for value in _values(one))]
    low, high = min(values), max(values)
    step = next((step for step in _STEPS if (high - low) / step <= _TICKS), _STEPS[-1])
    first, last = floor(round(low / step, 9)), max(ceil(round(high / step, 9)), 1)
    ends = (first * step, last * step)
    return Axis(
        low=ends[0],
        high=ends[1],
        ticks=tuple(
            Tick(x=whisker(number * step, axis=ends).at, text=_points(number * step))
            for number in range(first, last + 1)
        ),
        zero=whisker(0.0, axis=ends).at,
    )


def forest(checks: Sequence[PropertyCheck], axis: Axis) -> tuple[ForestGroup, ...]:
    """Return the properties that were checked, by kind and in their order."""
    kinds: dict[str, list[ForestRow]] = {title: [] for title in (_CHANGES, _OF_ITSELF, _ATTACKS, _SENTINELS)}
    for kind, check in _kinds(checks):
        if check.status != "not_checked":
            kinds[kind].append(_row(check, axis))
    return tuple(ForestGroup(title=title, rows=tuple(rows)) for title, rows in kinds.items() if rows)


def _kinds(checks: Sequence[PropertyCheck]) -> Iterator[tuple[str, PropertyCheck]]:
    """A report names changes first, then the judge by itself, then probes: those of the user's own are told by it."""
    before = _CHANGES
    for check in checks:
        if check.name in _ITSELF:
            before = _ATTACKS
            yield _OF_ITSELF, check
        else:
            yield _SENTINELS if check.name.startswith("sentinel.") else before, check


def _row(check: PropertyCheck, axis: Axis) -> ForestRow:
    effect, interval = effect_text(check)
    found, ends = shown(check), (axis.low, axis.high)
    band, width = _band(check, axis)
    end = deciding_end(check)
    return ForestRow(
        name=check.name,
        gloss=gloss(check.name),
        status=status_word(check.status),
        tone=TONES[check.status],
        effect=effect,
        interval=interval,
        mark=None if found is None else whisker(*found, mark=check.smallest_effect, axis=ends),
        band=band,
        width=width,
        end=None if end is None else whisker(end, axis=ends).at,
    )


def _band(check: PropertyCheck, axis: Axis) -> tuple[str, str]:
    """Return where what passes begins and how wide it is: a lean to either side has two ends."""
    if check.tolerance is None:
        return "0%", "0%"
    both = check.effect is not None and check.name in _TWO_SIDED
    left = max(-check.tolerance, axis.low) if both else axis.low
    width = whisker(check.tolerance - left, axis=(0.0, axis.high - axis.low)).at
    return whisker(left, axis=(axis.low, axis.high)).at, width


def _values(check: PropertyCheck) -> Iterator[float]:
    found = shown(check)
    if check.status != "not_checked" and found is not None:
        tolerance = check.tolerance or 0.0
        yield from (*found, -tolerance, 2 * tolerance)


def _points(share: float) -> str:
    return f"{100 * share:+.0f}".replace("-", "\N{MINUS SIGN}") if share else "0"
