"""What quality costs: Elo against tokens and money, with the front of judges that nothing beats at their price."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.ranking.plots.looks import Looks
from judgeharness_integrations.ranking.plots.panels import head
from judgeharness_integrations.ranking.plots.pointlabels import name_points
from judgeharness_integrations.reporting.figures import GREY, INK, legend_below, new_figure, save_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from judgeharness_integrations.ranking.judges.pareto import ParetoPoint

__all__ = ["along", "draw_pareto", "draw_step", "named_of", "step_of"]

Place = tuple[float, float]

_FEW = 12  # judges, up to which all are named
_BETWEEN = 48  # places of a line that names keep away from
_BESIDE = 2.5  # free judges stand so much left of the cheapest that is paid
_MARGIN = 0.1
_LEAST_ROOM = 1.3  # a factor, beside the outermost points of a logarithmic scale


def draw_pareto(
    points: Sequence[ParetoPoint],
    folder: Path,
    *,
    name: str = "pareto_tokens",
    x_label: str = "tokens per pair",
    y_label: str = "Elo",
    log: bool = False,
    looks: Looks | None = None,
) -> list[Path]:
    """Draw a front as a step line, its judges named, the others beside it; of few judges all are named.

    Args:
        points: judges, see `pareto`.
        folder: where to.
        name: of the files.
        x_label: what is paid.
        y_label: what is got.
        log: a logarithmic scale of what is paid; judges that cost nothing stand at its left.
        looks: colours of the judges.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    if not points:
        return []
    looks = looks or Looks()
    with styled():
        figure, (axes,) = new_figure(1, width=7.2, height=4.7)
        places = _draw_points(axes, points, looks, log=log)
        line = draw_step(axes, [places[one.judge] for one in points if one.on_front])
        axes.set(xlabel=x_label + (" (log scale)" if log else ""), ylabel=y_label)
        head(figure, f"{y_label} against {x_label}", "line: the judges that nothing beats at their price")
        legend_below(figure, axes, looks.handles())
        name_points(figure, axes, [(judge, *places[judge]) for judge in named_of(points)], [*places.values(), *line])
        return save_figure(figure, folder, name)


def _draw_points(axes: Axes, points: Sequence[ParetoPoint], looks: Looks, *, log: bool) -> dict[str, Place]:
    """Draw points and return judge -> place."""
    free = _free_place(points) if log else 0.0
    places = {one.judge: (max(one.x, free), one.y) for one in points}
    for one in points:
        size, alpha = (7, 1.0) if one.on_front else (5.5, 0.75)
        axes.plot(*places[one.judge], **looks.marker(one.judge), markersize=size, alpha=alpha)
    axes.margins(x=_MARGIN, y=_MARGIN)
    if log:
        _scale(axes, [x for x, _ in places.values()], free)
    else:
        axes.set_xlim(left=max(0.0, axes.get_xlim()[0]))
    return places


def step_of(front: Sequence[Place], right: float) -> list[Place]:
    """Return the corners of a step line through a front, on to the `right` edge."""
    corners: list[Place] = []
    for x, y in front:
        if corners:
            corners.append((x, corners[-1][1]))
        corners.append((x, y))
    return [*corners, (right, corners[-1][1])]


def draw_step(axes: Axes, front: Sequence[Place]) -> list[Place]:
    """Draw the step line of a front and return places along it, which names keep away from; limits stay as they are."""
    limits = axes.get_xlim(), axes.get_ylim()
    corners = step_of(front, limits[0][1])
    axes.plot(*zip(*corners, strict=True), color=INK, linewidth=1.1, zorder=1)
    axes.set(xlim=limits[0], ylim=limits[1])
    return [place for ends in pairwise(corners) for place in along(axes, *ends)]


def along(axes: Axes, first: Place, last: Place) -> list[Place]:
    """Return places between two, evenly spaced on the scales of the axes, which names keep away from."""
    scale = axes.transScale
    start, end = scale.transform([first, last])
    places = np.linspace(start, end, _BETWEEN + 1)[1:-1]
    return [(float(x), float(y)) for x, y in scale.inverted().transform(places)]


def named_of(points: Sequence[ParetoPoint]) -> list[str]:
    """Return the judges to name, those on the front first; no others where they are many."""
    return [
        one.judge for one in sorted(points, key=lambda one: not one.on_front) if one.on_front or len(points) <= _FEW
    ]


def _free_place(points: Sequence[ParetoPoint]) -> float:
    """Return where judges that cost nothing stand on a logarithmic scale: left of all that cost something."""
    return min((one.x for one in points if one.x > 0), default=1.0) / _BESIDE


def _money(value: float) -> str:
    return f"{value:.10f}".rstrip("0").rstrip(".")


def _scale(axes: Axes, paid: Sequence[float], free: float) -> None:
    """Make the scale of what is paid logarithmic, and say where judges stand that cost nothing."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415 - few draw

    axes.set_xscale("log")
    room = max(_LEAST_ROOM, (max(paid) / min(paid)) ** _MARGIN)
    axes.set_xlim(min(paid) / room, max(paid) * room)
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0), numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _money(value) if value > free else ""))
    axes.xaxis.set_minor_formatter(NullFormatter())
    if free in paid:
        axes.axvline(free, color=GREY, linewidth=0.8, linestyle=":")
        axes.annotate(
            "costs nothing",
            (free, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=GREY,
        )
