"""Rows of values with intervals, one name a row, the first on top; what several pictures are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.ranking.plots.names import short_names
from judgeharness_integrations.reporting.figures import GREY, INK, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Row", "draw_rows", "name_rows", "new_forest", "note_rows", "right_aligned"]

_ROW = 0.21  # inches
_FRAME = 0.95  # inches for title and axis
_FEW = 8  # rows, below which they stand further apart
_WIDE_ROW = 0.3
_BAND = "#f4f4f4"
_FIGURE_SPACE = "\u2007"
_SCALE_ABOVE = 30  # rows, from which on the scale stands above as well


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row: a value, its interval (low, high) where it has one, a note at the right, and how its point looks.

    A muted row's note is grey: nothing was measured there.
    """

    name: str
    value: float | None
    interval: tuple[float, float] | None = None
    note: str = ""
    marker: Mapping[str, Any] = field(default_factory=dict)
    colour: str = INK
    muted: bool = False


def new_forest(
    rows: int, panels: int = 1, *, width: float = 7.2, row: float | None = None
) -> tuple[Figure, list[Axes]]:
    """Return a figure for so many rows, `row` inches each, the panels side by side; `width` inches in all."""
    each = (_WIDE_ROW if rows <= _FEW else _ROW) if row is None else row
    return new_figure(panels, width=width / panels, height=_FRAME + rows * each)


def draw_rows(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw points and intervals, with bands that lead the eye from the name to the note."""
    for place, row in enumerate(rows):
        if place % 2:
            axes.axhspan(place - 0.5, place + 0.5, color=_BAND, linewidth=0, zorder=-1)
        if row.value is None:
            continue
        if row.interval is not None:
            axes.plot(row.interval, [place, place], color=row.colour, linewidth=1.5, solid_capstyle="butt", zorder=2)
        look: dict[str, Any] = {"marker": "o", "color": row.colour, "markersize": 5.5, "zorder": 4, **row.marker}
        axes.plot(row.value, place, **look)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    if len(rows) > _SCALE_ABOVE:
        axes.tick_params(axis="x", top=True, labeltop=True)


def name_rows(axes: Axes, names: Sequence[str], *, before: Sequence[str] = ()) -> None:
    """Name the rows at the left, each after a text of its own (a rank)."""
    shown = list(short_names(names).values())
    if before:
        longest = max(map(len, before))
        shown = [f"{name}   {right_aligned(text, longest)}" for name, text in zip(shown, before, strict=True)]
    axes.set_yticks(range(len(names)), shown, parse_math=False)


def note_rows(axes: Axes, rows: Sequence[Row], *, title: str) -> None:
    """Write the rows' notes at the right, under a title."""
    right = axes.secondary_yaxis("right")
    right.set_yticks(range(len(rows)), [row.note for row in rows], fontsize=8.5, parse_math=False)
    right.tick_params(axis="y", length=0)
    right.spines["right"].set_visible(False)
    for label, row in zip(right.get_yticklabels(), rows, strict=True):
        label.set_color(GREY if row.muted else INK)
    axes.annotate(
        title,
        (1, 1),
        xytext=(3.5, 7),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=8.5,
        color=GREY,
        annotation_clip=False,
    )


def right_aligned(text: str, length: int) -> str:
    """Return a number padded with spaces as wide as a digit, so that columns of numbers stand in line."""
    return text.rjust(length, _FIGURE_SPACE)
