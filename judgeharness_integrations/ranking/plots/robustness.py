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
_LABEL, _LINE, _TITLE = 50, 26, 22  # letters


def draw_robustness(comparisons: Sequence[Comparison], folder: Path, *, looks: Looks | None = None) -> list[Path]:
    """Draw `robustness`: a line of panels for each comparison, all data first, then groups; ratings against y = x.

    Sides on different scales (Elo and EIP) are compared by rank. What could not be compared is counted below the title.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    told = [one for one in comparisons if one.points]
    if not told:
        return []
    lines = {name: [one for one in told if one.name == name] for name in dict.fromkeys(one.name for one in told)}
    columns = min(_MOST_COLUMNS, max(map(len, lines.values())))
    looks = looks or Looks()
    with styled():
        width = max(_SIZE, _SMALLEST / columns)
        figure, axes = new_figure(columns, len(lines), width=width, height=_SIZE + 0.6)
        for line, mine in enumerate(lines.values()):
            by_rank = _other_scale(mine)
            for column in range(columns):
                panel = axes[line * columns + column]
                if column >= len(mine):
                    panel.set_axis_off()
                    continue
                _panel(panel, mine[column], looks, by_rank=by_rank, labelled=column == 0)
        left_out = sum(max(0, len(mine) - columns) for mine in lines.values())
        more = f"; groups not drawn: {left_out} (in robustness.csv)" if left_out else ""
        silent = len(comparisons) - len(told)
        more += f"; comparisons not made: {silent} (rank.json says why)" if silent else ""
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
    name = ALL if one.group is None else short_name(one.group, _TITLE)
    axes.set_title(f"{name} ({len(one.points)} judges)\n{_words(one)}", loc="left", fontsize=8.5)
    if labelled:
        word = ", rank" if by_rank else ""
        labels = [textwrap.fill(f"{short_name(label, _LABEL)}{word}", _LINE) for label in (one.x_label, one.y_label)]
        axes.set_xlabel(labels[0], fontsize=8.5)
        axes.set_ylabel(labels[1], fontsize=8.5)
    axes.tick_params(labelsize=7.5)
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
    axes.locator_params(nbins=4, steps=(1, 2, 5, 10), integer=by_rank)
    if by_rank:
        ticks = [tick for tick in axes.get_xticks() if 1 <= tick <= max(values)]
        axes.set(xticks=ticks, yticks=ticks)


def _words(one: Comparison) -> str:
    found = one.correlation
    known = {} if found is None else {_RHO: found.spearman, _TAU: found.kendall, "r": found.pearson}
    return "   ".join(f"{name} {value:.3f}" for name, value in known.items() if value is not None)
