"""Which labels judges give too often: predicted minus true share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from judgeharness_integrations.ranking.classes.asked import NO_DECISION
from judgeharness_integrations.ranking.plots.heat import Cell, draw_heat, label_height
from judgeharness_integrations.ranking.plots.panels import group_title, head, signed, title_of
from judgeharness_integrations.reporting.figures import new_figure, save_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from judgeharness_integrations.ranking.classes.bias import ClassBias

__all__ = ["draw_class_bias"]

Panel = tuple[str, str | None]  # criterion, group

_MOST_PANELS = 8
_ROW, _FRAME, _SMALLEST = 0.22, 1.3, 6.2  # inches
_COLUMN, _NARROWEST = 0.52, 1.3  # inches
_NAMES = 2.6  # inches
_SMALLEST_SCALE = 0.1
_NOTE = "above 0: given too often; bold: 95 % interval without 0"


def draw_class_bias(biases: Sequence[ClassBias], folder: Path, *, order: Sequence[str] = ()) -> list[Path]:
    """Draw `class_bias`: judges x labels, a panel for all data and, where they are few, for each group and criterion.

    Numbers are percentage points; bold where the 95 % interval leaves out 0. `order`: judges from top to bottom.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    if not biases:
        return []
    panels = list(dict.fromkeys((one.criterion, one.group) for one in biases))
    whole = [panel for panel in panels if panel[1] is None]
    shown = (whole if len(panels) > _MOST_PANELS and whole else panels)[:_MOST_PANELS]
    judges = _ordered(biases, order)
    labels = {panel: _labels(biases, panel) for panel in shown}
    size = max(_NARROWEST, _COLUMN * max(map(len, labels.values())))
    with styled():
        width = max(size + _NAMES / len(shown), _SMALLEST / len(shown))
        height = _FRAME + _ROW * len(judges) + max(map(label_height, labels.values()))
        figure, axes = new_figure(len(shown), width=width, height=height)
        images = _maps(axes, biases, labels, judges)
        for axis, panel in zip(axes, shown, strict=True):
            title_of(axis, group_title(*panel, [name for name, _ in shown]), width=size)
        beyond = any((one.bias or 0.0) > images[0].get_clim()[1] for one in biases)
        _explain(figure, axes, images[0], extend="max" if beyond else "neither")
        left_out = len({group for _, group in panels} - {group for _, group in shown})
        more = f" (groups not shown: {left_out})" if left_out else ""
        head(figure, f"Class bias: predicted minus true share{more}", _NOTE)
        return save_figure(figure, folder, "class_bias")


def _maps(
    axes: Sequence[Axes], biases: Sequence[ClassBias], labels: Mapping[Panel, Sequence[str]], judges: Sequence[str]
) -> list[AxesImage]:
    found = {(one.criterion, one.group, one.judge, one.label): one for one in biases}
    known = [one for one in biases if one.bias is not None and (one.criterion, one.group) in labels]
    scale = max([_SMALLEST_SCALE, *(abs(one.bias or 0.0) for one in known if one.label != NO_DECISION)])
    return [
        draw_heat(
            axes[place],
            [[_cell(found.get((*panel, judge, label))) for label in columns] for judge in judges],
            rows=[] if place else judges,
            columns=columns,
            colours="RdBu_r",
            limits=(-scale, scale),
        )
        for place, (panel, columns) in enumerate(labels.items())
    ]


def _explain(figure: Figure, axes: Sequence[Axes], image: AxesImage, *, extend: str) -> None:
    bar = figure.colorbar(image, ax=axes, extend=extend, location="bottom", shrink=0.7, aspect=45, pad=0.02)
    bar.ax.xaxis.set_major_formatter(lambda value, _: signed(100 * value, 1).removesuffix(".0"))
    bar.set_label("percentage points", fontsize=8.5)
    bar.outline.set_visible(False)


def _ordered(biases: Sequence[ClassBias], order: Sequence[str]) -> list[str]:
    known = dict.fromkeys(one.judge for one in biases)
    return [*(judge for judge in order if judge in known), *(judge for judge in known if judge not in set(order))]


def _labels(biases: Sequence[ClassBias], panel: Panel) -> list[str]:
    return list(dict.fromkeys(one.label for one in biases if (one.criterion, one.group) == panel))


def _cell(bias: ClassBias | None) -> Cell:
    if bias is None or bias.bias is None:
        return Cell(value=None)
    sure = bias.ci95 is not None and not bias.ci95[0] <= 0 <= bias.ci95[1]
    return Cell(value=bias.bias, text=signed(100 * bias.bias), bold=sure)
