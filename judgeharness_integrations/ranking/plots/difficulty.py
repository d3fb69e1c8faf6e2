"""How hard pairs are: the distribution of their Elo, over all and by group."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.ranking.plots.forest import (
    Row,
    draw_rows,
    name_rows,
    new_forest,
    note_rows,
    right_aligned,
)
from judgeharness_integrations.ranking.plots.names import short_name
from judgeharness_integrations.ranking.plots.panels import NONE, head
from judgeharness_integrations.reporting.figures import COLOURS, GREY, INK, save_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from judgeharness_integrations.ranking.arrays import Floats
    from judgeharness_integrations.ranking.curation import Curation

__all__ = ["draw_difficulty"]

_ALL = "all pairs"
_VIOLINS, _DISCS = "bar: middle half of the pairs, ring: median", "discs: pairs of one difficulty, their area the share"
_FEWEST = 8  # different difficulties of all pairs, from which on densities are drawn
_LARGEST = 15.0  # points across a circle that stands for all pairs
_HALF = 0.42  # of a row
_MARGIN = 0.05
_POINTS = 240
_DECIMALS = 6  # of Elo: pairs of the same pattern differ by rounding alone
_HEIGHT = 0.46  # inches of a row


def draw_difficulty(curation: Curation, folder: Path, *, by: str | None = None) -> list[Path]:
    """Draw `difficulty`: a violin of pair Elo for all informative pairs and each group of a column, hardest on top.

    Pairs that all rated judges got right, or all wrong, have no finite Elo: they are counted in the notes.

    Raises:
        NotInstalledError: matplotlib is not installed.
        UnknownNameError: there is no such column.

    """
    groups = {name: values for name, values in _groups(curation, by).items() if np.isfinite(values).any()}
    if not groups:
        return []
    with styled():
        figure, (axes,) = new_forest(len(groups), width=7.6, row=_HEIGHT)
        rows = [Row(name=name, value=None, note=_note(values)) for name, values in groups.items()]
        draw_rows(axes, rows)
        finite = [values[np.isfinite(values)] for values in groups.values()]
        are_few = len(np.unique(np.concatenate(finite).round(_DECIMALS))) < _FEWEST
        width = _band_width(finite[0])
        for place, values in enumerate(finite):
            colour = COLOURS[0] if place else INK
            if are_few:
                _discs(axes, place, values, colour)
            else:
                _violin(axes, place, values, colour, width)
        name_rows(axes, list(groups))
        note_rows(axes, rows, title="pairs  median")
        axes.margins(x=_MARGIN)
        axes.set_xlabel("Elo of pairs (Bradley-Terry): the higher, the harder; judges' mean 1500")
        head(figure, _heading(by), (_DISCS if are_few else _VIOLINS) + _show_cut(axes, curation))
        return save_figure(figure, folder, "difficulty")


def _groups(curation: Curation, by: str | None) -> dict[str, Floats]:
    """Return name -> difficulties of its informative pairs; all of them first, then the groups by their median."""
    found = {_ALL: curation.difficulty[~np.isnan(curation.difficulty)]}
    if by is None:
        return found
    column = curation.matrix.column(by)
    names = sorted({str(value) for value in column if value is not None})
    mine = {name: curation.difficulty[[str(value) == name for value in column]] for name in names}
    known = {name: values[~np.isnan(values)] for name, values in mine.items()}
    measured = {name: values for name, values in known.items() if len(values)}
    return found | {
        (f"{name} " if name == _ALL else name): measured[name]
        for name in sorted(measured, key=lambda name: -float(np.median(measured[name])))
    }


def _heading(by: str | None) -> str:
    return "Difficulty of pairs" + ("" if by is None else f" by {short_name(by)}")


def _note(values: Floats) -> str:
    beyond = int(np.isinf(values).sum())
    more = f"  ({beyond} off the scale)" if beyond else ""
    middle = float(np.median(values))
    median = right_aligned(f"{middle:.0f}" if np.isfinite(middle) else NONE, 5)
    return f"{right_aligned(str(len(values)), 4)}  {median}{more}"


def _discs(axes: Axes, place: int, values: Floats, colour: str) -> None:
    """Draw a disc for all pairs of one difficulty."""
    for level, pairs in zip(*np.unique(values.round(_DECIMALS), return_counts=True), strict=True):
        size = _LARGEST * float(np.sqrt(pairs / len(values)))
        axes.plot(level, place, marker="o", markersize=size, color=colour, alpha=0.6, linewidth=0)


def _band_width(values: Floats) -> float:
    """Return the standard deviation of the normal kernel (Scott 1992); every group has that of all pairs."""
    return float(values.std() * len(values) ** -0.2)


def _violin(axes: Axes, place: int, values: Floats, colour: str, width: float) -> None:
    """Draw the density, the quartiles and the median."""
    span = np.linspace(values.min() - width, values.max() + width, _POINTS)
    density = np.exp(-0.5 * ((span[:, None] - values) / width) ** 2).sum(axis=1)
    half = _HALF * density / density.max()
    axes.fill_between(span, place - half, place + half, color=colour, alpha=0.35, linewidth=0, zorder=2)
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    axes.plot([low, high], [place, place], color=colour, linewidth=4, solid_capstyle="butt", zorder=3)
    axes.plot(middle, place, marker="o", markersize=5, markerfacecolor="white", markeredgecolor=colour, zorder=4)


def _show_cut(axes: Axes, curation: Curation) -> str:
    """Draw where the cut begins and return what to say of it."""
    cut = curation.difficulty[curation.hardest]
    edge = cut[np.isfinite(cut)]
    if not len(edge):
        return ""
    axes.axvline(float(edge.min()), color=GREY, linestyle="--", linewidth=1)
    return f"; dashed: {len(cut)} pairs are cut from here on"
