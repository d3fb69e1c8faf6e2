"""Heat maps of judges and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from judgeharness_integrations.ranking.plots.names import short_names
from judgeharness_integrations.reporting.figures import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

__all__ = ["Cell", "draw_heat", "label_height"]

_EMPTY = "#dedede"
_DARK = 0.45  # luminance below which a number is white
_RED, _GREEN, _BLUE = 0.299, 0.587, 0.114  # of luminance (ITU-R BT.601)
_STRAIGHT = 6  # letters of a label that still stand upright
_LABEL = 16
_A_LETTER = 0.055  # inches of height, aslant


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A value, None where it was not measured; what is written there; whether it stands out."""

    value: float | None
    text: str = ""
    bold: bool = False


def draw_heat(
    axes: Axes,
    cells: Sequence[Sequence[Cell]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    colours: str,
    limits: tuple[float, float],
    longest: int = 34,
) -> AxesImage:
    """Draw rows x columns of cells; without names of rows there are no ticks at the left. Grey was not measured.

    `longest`: letters of a row's name.
    """
    values = [[float("nan") if cell.value is None else cell.value for cell in line] for line in cells]
    image = axes.imshow(values, cmap=colours, vmin=limits[0], vmax=limits[1], aspect="auto")
    axes.set_facecolor(_EMPTY)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    names = list(short_names(columns, _LABEL).values())
    aslant = max(map(len, names)) > _STRAIGHT
    turned: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if aslant else {}
    axes.set_xticks(range(len(names)), names, parse_math=False, **turned)
    axes.set_yticks(range(len(rows)), list(short_names(rows, longest).values()), parse_math=False)
    axes.tick_params(length=0)
    for place, line in enumerate(cells):
        for column, cell in enumerate(line):
            if cell.value is not None and cell.text:
                _write(axes, _shade(image, cell.value), (column, place), cell)
    return image


def label_height(columns: Sequence[str]) -> float:
    """Return how many inches the labels of columns take below a map."""
    longest = min(_LABEL, max(map(len, columns)))
    return _A_LETTER * longest if longest > _STRAIGHT else 0.0


def _shade(image: AxesImage, value: float) -> str:
    """Return a colour that can be read on that of a value."""
    red, green, blue = image.to_rgba(np.array([value]))[0, :3]
    return "white" if _RED * red + _GREEN * green + _BLUE * blue < _DARK else INK


def _write(axes: Axes, shade: str, at: tuple[int, int], cell: Cell) -> None:
    weight = "bold" if cell.bold else "normal"
    axes.text(*at, cell.text, ha="center", va="center", color=shade, fontsize=8, fontweight=weight)
