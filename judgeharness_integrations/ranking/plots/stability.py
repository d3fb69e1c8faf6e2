"""How far a ranking from a part of the matches agrees with the full one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.ranking.plots.panels import ALL, head, label_edges, new_panels, title_of
from judgeharness_integrations.reporting.figures import COLOURS, GREY, legend_below, save_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from judgeharness_integrations.ranking.comparing.stability import StabilityPoint

__all__ = ["draw_stability"]

_MOST_PANELS = 12
_WIDTH, _HEIGHT = 3.6, 2.9  # inches


def draw_stability(points: Sequence[StabilityPoint], folder: Path) -> list[Path]:
    """Draw `stability`: correlations with the full ranking over the share of matches, a panel for each group.

    Lines are means over draws, bands their 2.5th to 97.5th percentiles. Shares at which no draw could be rated have
    neither, and those at which fewer than half could have hollow points and no band. Nothing is drawn where no draw
    could be rated at all. By EIP, pairs are drawn and not matches.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    measured = _measured(points)
    if not measured:
        return []
    drawn = _drawn(points[0])
    shown = dict(list(measured.items())[:_MOST_PANELS])
    lows = [low for mine in shown.values() for one in mine for low in (one.spearman_low, one.kendall_low)]
    lowest = min([0.0, *(low for low in lows if low is not None)])
    with styled():
        figure, lines = new_panels(len(shown), width=_WIDTH + 1.2 * (len(shown) == 1), height=_HEIGHT)
        axes = [panel for line in lines for panel in line]
        for panel, (group, mine) in zip(axes, shown.items(), strict=True):
            _panel(panel, mine)
            title_of(panel, ALL if group is None else group, width=_WIDTH)
            panel.set(xlim=(0, 1), ylim=(lowest - 0.03, 1.03))
        label_edges(lines, f"share of the {drawn} drawn", "agreement with all of them")
        head(
            figure,
            f"Stability of the ranking under fewer {drawn}",
            _note(list(shown.values()), len(measured) - len(shown)),
        )
        legend_below(figure, max(axes, key=lambda panel: len(panel.get_legend_handles_labels()[1])))
        return save_figure(figure, folder, "stability")


def _drawn(one: StabilityPoint) -> str:
    return "pairs" if one.method == "eip" else "matches"


def _note(groups: Sequence[Sequence[StabilityPoint]], left_out: int) -> str:
    points = [one for mine in groups for one in mine]
    what = "" if _drawn(points[0]) == "pairs" else "a match is a judge on a pair; "
    draws = max(one.draws for one in points)
    hollow = "; hollow: fewer than half of the draws could be rated" if any(map(_is_hollow, points)) else ""
    more = f"; groups not drawn: {left_out} (in stability.csv)" if left_out else ""
    return f"{what}by {points[0].method}; lines: means of {draws} draws, bands: 95 % of them{hollow}{more}"


def _measured(points: Sequence[StabilityPoint]) -> dict[str | None, list[StabilityPoint]]:
    """Return group -> points by rising share, of groups where any correlation was measured."""
    groups: dict[str | None, list[StabilityPoint]] = {}
    for one in sorted(points, key=lambda one: one.fraction):
        groups.setdefault(one.group, []).append(one)
    order = dict.fromkeys(one.group for one in points)
    return {group: groups[group] for group in order if any(one.spearman is not None for one in groups[group])}


def _is_hollow(one: StabilityPoint) -> bool:
    """Return whether a point rests on fewer than half of its draws: those that could be rated are no fair sample."""
    return one.spearman is not None and 2 * one.unrated > one.draws


def _panel(axes: Axes, points: Sequence[StabilityPoint]) -> None:
    for name, colour, marker in (("spearman", COLOURS[0], "o"), ("kendall", COLOURS[1], "s")):
        _band(axes, points, name, colour)
        _line(axes, points, name, f"{name.capitalize()} correlation", color=colour, marker=marker)
    _line(axes, points, "top5", "overlap of the top 5", color=COLOURS[2], marker="^", linestyle=":")
    unrated = sum(one.unrated for one in points)
    if unrated:
        tried = sum(one.draws for one in points)
        text = f"{unrated} of {tried} draws could not be rated"
        axes.text(0.98, 0.03, text, transform=axes.transAxes, ha="right", fontsize=8, color=GREY)


def _band(axes: Axes, points: Sequence[StabilityPoint], name: str, colour: str) -> None:
    known = [one for one in points if getattr(one, f"{name}_low") is not None and not _is_hollow(one)]
    low, high = ([getattr(one, f"{name}_{end}") for one in known] for end in ("low", "high"))
    axes.fill_between([one.fraction for one in known], low, high, color=colour, alpha=0.18, linewidth=0)


def _line(axes: Axes, points: Sequence[StabilityPoint], name: str, label: str, **look: Any) -> None:
    known = [(one.fraction, getattr(one, name), _is_hollow(one)) for one in points if getattr(one, name) is not None]
    if not known:
        return
    axes.plot(*zip(*[place for *place, _ in known], strict=True), markersize=4, linewidth=1.5, label=label, **look)
    for *place, is_hollow in known:
        if is_hollow:
            axes.plot(*place, **look, markersize=4, markerfacecolor="white")
