"""What judges say where people say something: confusion matrices, each row a share of the true label's pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from judgeharness_integrations.ranking.plots.heat import Cell, draw_heat, label_height
from judgeharness_integrations.ranking.plots.panels import group_title, head, new_panels, title_of
from judgeharness_integrations.reporting.figures import save_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from judgeharness_integrations.ranking.classes.confusion import Confusion

__all__ = ["draw_confusion"]

_MOST_PANELS, _MOST_COLUMNS = 12, 4
_MOST_NUMBERS = 8  # labels, beyond which a panel shows colours alone
_CELL, _SMALLEST, _LARGEST = 0.55, 1.1, 6.0  # inches
_GAP, _FRAME, _BAR = 0.35, 0.45, 0.9  # inches: between panels, for titles, for the colours
_ONCE = 0.3  # of the room for names, where the first panel of a line alone has them
_A_LETTER, _LABEL = 0.085, 16  # inches; letters of a label
_NOTE = "each row: shares of the pairs with that true label"
_POOLED = "all judges"


def draw_confusion(confusions: Sequence[Confusion], folder: Path, *, order: Sequence[str] = ()) -> list[Path]:
    """Draw `confusion`, a panel for all judges pooled and for each of the first; `confusion_by_group`, pooled by group.

    `order`: judges by rank; the first are shown, as they come without it. Cells: share of the true label's pairs.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    places = {judge: place for place, judge in enumerate(order)}
    groups = {group: place for place, group in enumerate(dict.fromkeys(one.group for one in confusions))}
    whole = sorted(
        (one for one in confusions if one.group is None),
        key=lambda one: -1 if one.judge is None else places.get(one.judge, len(places)),
    )
    grouped = sorted(
        (one for one in confusions if one.group is not None and one.judge is None),
        key=lambda one: groups[one.group],
    )
    return [
        *_drawn(whole, folder, "confusion", _judges_heading(whole)),
        *_drawn(grouped, folder, "confusion_by_group", _groups_heading(grouped)),
    ]


def _judges_heading(confusions: Sequence[Confusion]) -> str:
    judges = len({one.judge for one in confusions if one.judge is not None})
    shown = len({one.judge for one in confusions[:_MOST_PANELS] if one.judge is not None})
    return "Confusion" + (f", the first {shown} of {judges} judges" if shown < judges else "")


def _groups_heading(confusions: Sequence[Confusion]) -> str:
    groups, shown = (len({one.group for one in some}) for some in (confusions, confusions[:_MOST_PANELS]))
    more = f", the first {shown} of {groups} groups" if shown < groups else ""
    return f"Confusion, all judges pooled, by group{more}"


def _columns(shown: Sequence[Confusion]) -> int:
    """Return how many panels a line has: the criteria of one judge or group, where there are several."""
    criteria = len({one.criterion for one in shown})
    return criteria if 1 < criteria <= _MOST_COLUMNS else _MOST_COLUMNS


def _drawn(confusions: Sequence[Confusion], folder: Path, name: str, heading: str) -> list[Path]:
    if not confusions:
        return []
    shown = confusions[:_MOST_PANELS]
    with styled():
        figure, rows, width = _canvas(shown)
        axes = [panel for line in rows for panel in line]
        images = [_panel(panel, one) for panel, one in zip(axes, shown, strict=True)]
        for panel, one in zip(axes, shown, strict=True):
            title_of(panel, _title(one, [other.criterion for other in shown]), width=width)
        if _alike(shown):
            _name_once(rows)
        figure.supxlabel("predicted", fontsize=9.5)
        figure.supylabel("true", fontsize=9.5)
        bar = figure.colorbar(images[0], ax=axes, aspect=30, pad=0.02)
        bar.outline.set_visible(False)
        head(figure, heading, _NOTE)
        return save_figure(figure, folder, name)


def _canvas(shown: Sequence[Confusion]) -> tuple[Figure, list[list[Axes]], float]:
    """Return a figure with room for all names, its panels, and their width in inches."""
    true, predicted = max(len(one.true_labels) for one in shown), max(len(one.predicted_labels) for one in shown)
    width, height = (min(_LARGEST, max(_SMALLEST, _CELL * labels)) for labels in (predicted, true))
    below = max(label_height(one.predicted_labels) for one in shown)
    names = _A_LETTER * min(_LABEL, max(len(label) for one in shown for label in one.true_labels))
    once = _alike(shown)
    figure, rows = new_panels(
        len(shown),
        most_columns=_columns(shown),
        width=width + _GAP + names * (_ONCE if once else 1),
        height=height + _FRAME + below * (not once),
    )
    size = figure.get_size_inches()
    figure.set_size_inches(size[0] + _BAR, size[1] + _FRAME + below * once)
    return figure, rows, width


def _alike(shown: Sequence[Confusion]) -> bool:
    """Return whether all panels have the same labels, so that they are named once."""
    return len({(one.true_labels, one.predicted_labels) for one in shown}) == 1


def _panel(axes: Axes, one: Confusion) -> AxesImage:
    numbers = len(one.predicted_labels) <= _MOST_NUMBERS
    return draw_heat(
        axes,
        [_cells(row, one, numbers=numbers) for row in one.row_normalised],
        rows=one.true_labels,
        columns=one.predicted_labels,
        colours="Blues",
        limits=(0, 1),
        longest=_LABEL,
    )


def _title(one: Confusion, criteria: Sequence[str]) -> str:
    if one.group is not None:
        return group_title(one.criterion, one.group, criteria)
    return group_title(one.criterion, _POOLED if one.judge is None else one.judge, criteria)


def _name_once(rows: Sequence[Sequence[Axes]]) -> None:
    """Name labels at the left of each line, and below the last panel of each column."""
    for place, line in enumerate(rows):
        below = len(rows[place + 1]) if place + 1 < len(rows) else 0
        for column, panel in enumerate(line):
            panel.tick_params(labelleft=column == 0, labelbottom=column >= below)
            for label in panel.get_xticklabels():
                label.set_in_layout(place + 1 == len(rows))  # else they stand where no panel is


def _cells(row: Sequence[float] | None, one: Confusion, *, numbers: bool) -> list[Cell]:
    if row is None:
        return [Cell(value=None)] * len(one.predicted_labels)
    return [Cell(value=value, text=f"{100 * value:.0f} %" if numbers else "") for value in row]
