"""Several panels in one picture."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from judgeharness_integrations.ranking.plots.names import short_name
from judgeharness_integrations.reporting.figures import INK, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ALL", "NONE", "group_title", "head", "label_edges", "new_panels", "signed", "title_of"]

ALL = "all"
NONE = "\u2013"  # where a number would stand
_LETTERS_AN_INCH = 12  # of a title
_LINE = 0.2  # inches
_MINUS = "\u2212"
_SEPARATORS = " /_-.,:@"


def new_panels(
    panels: int, *, most_columns: int = 3, width: float = 4.2, height: float = 3.4
) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure with so many axes, in rows of nearly the same length; spare places at the end stay empty."""
    rows = math.ceil(panels / most_columns)
    columns = math.ceil(panels / rows)
    figure, axes = new_figure(columns, rows, width=width, height=height)
    for spare in axes[panels:]:
        spare.set_axis_off()
    return figure, [axes[start : min(start + columns, panels)] for start in range(0, panels, columns)]


def head(figure: Figure, text: str, note: str = "") -> None:
    """Give a figure its title, at the left, and under it how to read it; both are wrapped, and have their room."""
    width, height = figure.get_size_inches()
    letters = int(width * _LETTERS_AN_INCH)
    lines = [*textwrap.wrap(text, letters), *textwrap.wrap(note, letters)]
    figure.set_size_inches(width, height + _LINE * len(lines))
    shown = "\n".join(lines)
    figure.suptitle(shown, x=0.01, ha="left", fontsize=10.5, color=INK, parse_math=False, linespacing=1.4)


def label_edges(rows: Sequence[Sequence[Axes]], x_label: str, y_label: str) -> None:
    """Label the first panel of each line at the left, and the panels with none below them."""
    for place, line in enumerate(rows):
        line[0].set_ylabel(y_label)
        below = len(rows[place + 1]) if place + 1 < len(rows) else 0
        for panel in line[below:]:
            panel.set_xlabel(x_label)


def title_of(axes: Axes, text: str, *, width: float) -> None:
    """Give a panel its title, on two lines where `width` inches ask for it."""
    letters = max(8, int(width * _LETTERS_AN_INCH))
    shown = short_name(text, 2 * letters - 2)
    if len(shown) > letters:
        breaks = [place for place, letter in enumerate(shown[:letters], 1) if letter in _SEPARATORS]
        least = len(shown) - letters
        place = max((place for place in breaks if place >= least), default=letters)
        shown = f"{shown[:place].rstrip()}\n{shown[place:]}"
    axes.set_title(shown, loc="left", fontsize=9.5)


def group_title(criterion: str | None, group: str | None, criteria: Sequence[str]) -> str:
    """Return what a panel shows: its group, and the criterion where there are several."""
    parts = [criterion] if criterion is not None and len(set(criteria)) > 1 else []
    return ", ".join([*parts, ALL if group is None else group])


def signed(value: float, digits: int = 0) -> str:
    """Return a number with its sign; what rounds to 0 has none."""
    text = f"{abs(value):.{digits}f}"
    if not float(text):
        return text
    return f"{'+' if value > 0 else _MINUS}{text}"
