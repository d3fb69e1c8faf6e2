"""The robustness sheet: what would change under another criterion, cut, method or kind of verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.ranking.places import ranked
from judgeharness_integrations.ranking.plots.looks import Looks
from judgeharness_integrations.ranking.plots.names import short_name
from judgeharness_integrations.ranking.plots.panels import ALL, head
from judgeharness_integrations.reporting.figures import GREY, legend_below, new_figure, save_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from judgeharness_integrations.ranking.comparing.comparison import Comparison

__all__ = ["draw_robustness"]

_RHO, _TAU = "\u03c1", "\u03c4"
_SIZE, _SMALLEST = 2.5, 4.6  # inches of a panel, and of the picture
_MOST_COLUMNS = 6
_OTHER_SCALE = 4.0  # how much wider one side's scale is, from which on ranks are compared
_LABEL, _REASON, _TITLE = 30, 26, 22  # letters


def draw_robustness(comparisons: Sequence[Comparison], folder: Path, *, looks: Looks | None = None) -> list[Path]:
    """Draw `robustness`: a line of panels for each comparison, all data first, then groups; ratings against y = x.

    Sides on different scales (Elo and EIP) are compared by rank. Where there is nothing to compare the reason stands.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    if not any(one.points for one in comparisons):
        return []
    lines = {
        name: [one for one in comparisons if one.name == name]
        for name in dict.fromkeys(one.name for one in comparisons)
    }
    columns = min(_MOST_COLUMNS, max(map(len, lines.values())))
    looks = looks or Looks()
    with styled():
        width = max(_SIZE, _SMALLEST / columns)
        figure, axes = new_figure(columns, len(lines), width=width, height=_SIZE + 0.5)
        for line, mine in enumerate(lines.values()):
            by_rank = _other_scale(mine)
            for column in range(columns):
                panel = axes[line * columns + column]
                if column >= len(mine):
                    panel.set_axis_off()
                    continue
                _panel(panel, mine[column], looks, by_rank=by_rank, labelled=column == 0)
        left_out = sum(max(0, len(mine) - columns) for mine in lines.values())
        more = f"; {left_out} more panels stand in the table" if left_out else ""
        head(
            figure,
            "Robustness: ratings under other choices",
            f"line: no change; {_RHO} Spearman, {_TAU} Kendall, r Pearson{more}",
        )
        legend_below(figure, axes[0], looks.handles())
        return save_figure(figure, folder, "robustness")


def _other_scale(comparisons: Sequence[Comparison]) -> bool:
    """Return whether x and y are on scales so different that a line y = x would mean nothing."""
    x = [one_x for one in comparisons for _, one_x, _ in one.points] or [0.0]
    y = [one_y for one in comparisons for _, _, one_y in one.points] or [0.0]
    wide, narrow = sorted((max(x) - min(x), max(y) - min(y)), reverse=True)
    return wide > _OTHER_SCALE * narrow > 0


def _panel(axes: Axes, one: Comparison, looks: Looks, *, by_rank: bool, labelled: bool) -> None:
    judges = f" ({len(one.points)} judges)" if one.points else ""
    name = ALL if one.group is None else short_name(one.group, _TITLE)
    axes.set_title(f"{name}{judges}\n{_words(one)}", loc="left", fontsize=8.5)
    if labelled:
        word = ", rank" if by_rank else ""
        axes.set_xlabel(f"{short_name(one.x_label, _LABEL)}{word}", fontsize=8.5)
        axes.set_ylabel(f"{short_name(one.y_label, _LABEL)}{word}", fontsize=8.5)
    axes.tick_params(labelsize=7.5)
    if not one.points:
        axes.set(xticks=[], yticks=[], box_aspect=1)
        reason = textwrap.fill(short_name(one.reason or "nothing to compare", 150), _REASON)
        axes.text(0.5, 0.5, reason, transform=axes.transAxes, ha="center", va="center", fontsize=7.5, color=GREY)
        return
    x, y = ({judge: point[side] for judge, *point in one.points} for side in (0, 1))
    if by_rank:
        x, y = ({judge: float(rank) for judge, rank in ranked(side).items()} for side in (x, y))
    values = [*x.values(), *y.values()]
    room = 0.06 * (max(values) - min(values)) or 1.0
    limits = (min(values) - room, max(values) + room)
    axes.plot(limits, limits, color=GREY, linewidth=1, zorder=1)
    for judge in x:
        look: dict[str, Any] = looks.marker(judge) | {"markersize": 3.5, "markeredgewidth": 0.9, "alpha": 0.85}
        axes.plot(x[judge], y[judge], **look)
    axes.set(xlim=limits[::-1] if by_rank else limits, ylim=limits[::-1] if by_rank else limits, aspect="equal")
    ticks = sorted({1, *(round(max(values) * part / 4) for part in range(1, 5))} - {0}) if by_rank else None
    if ticks is None:
        axes.locator_params(nbins=4)
    else:
        axes.set(xticks=ticks, yticks=ticks)


def _words(one: Comparison) -> str:
    found = one.correlation
    known = {} if found is None else {_RHO: found.spearman, _TAU: found.kendall, "r": found.pearson}
    return "   ".join(f"{name} {value:.3f}" for name, value in known.items() if value is not None)
