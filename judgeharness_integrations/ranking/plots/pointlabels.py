"""Names beside points, where nothing else stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.ranking.arrays import Floats
from judgeharness_integrations.ranking.plots.names import short_names
from judgeharness_integrations.reporting.figures import GREY, INK, any_letter, lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["name_points"]

_SIZE = 8  # points
_ASIDE = (6, 14, 26, 42, 60)  # points, to the left or right of a point
_ABOVE = tuple(sorted(range(-110, 111, 5), key=lambda up: (abs(up), -up)))  # points, or below
_NEAR = 14  # points: farther names have a line to their point
_OUTSIDE, _ON_A_NAME, _ON_A_POINT, _AWAY = 1e4, 1e3, 50.0, 1.0  # what a place costs
_FREE = 4.0  # pixels that are kept free around a point


def name_points(
    figure: Figure,
    axes: Axes,
    named: Sequence[tuple[str, float, float]],
    others: Sequence[tuple[float, float]] = (),
) -> None:
    """Name points (name, x, y) once everything else of the figure stands; `others` are kept free as well."""
    if not named:
        return
    lay_out(figure)
    places = [(x, y) for _, x, y in named]
    space = _Space(
        frame=axes.get_window_extent().get_points().ravel(),
        points=axes.transData.transform(np.array([*places, *others], np.float64)),
        pixels=figure.dpi / 72,
    )
    shown = short_names(name for name, _, _ in named)
    for place, (name, x, y) in enumerate(named):
        right, up, is_far = space.settle(place, *_size(axes, shown[name]))
        note = axes.annotate(
            shown[name],
            (x, y),
            xytext=(right, up),
            textcoords="offset points",
            fontsize=_SIZE,
            color=INK,
            zorder=6,
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
            if is_far
            else None,
        )
        note.set_in_layout(False)


def _size(axes: Axes, text: str) -> tuple[float, float]:
    """Return width and height of a text in pixels."""
    probe = axes.text(0, 0, text, fontsize=_SIZE)
    with any_letter():
        extent = probe.get_window_extent()
    probe.remove()
    return extent.width, extent.height


@dataclass(kw_only=True)
class _Space:
    """What is taken of a panel, in pixels: boxes are left, bottom, right, top."""

    frame: Floats
    points: Floats
    pixels: float  # of a point of type
    taken: list[Floats] = field(default_factory=list)

    def settle(self, place: int, width: float, height: float) -> tuple[float, float, bool]:
        """Take the cheapest box for a name; return its corner from the point, in points, and whether it is far away."""
        x, y = self.points[place]
        best, found, offset = math.inf, np.zeros(4), 0.0
        for aside, above, side in product(_ASIDE, _ABOVE, (-1, 0, 1)):
            far = math.hypot(side * aside, above)
            left = x + side * aside * self.pixels - width * (1 - side) / 2
            bottom = y + above * self.pixels - height / 2
            box = np.array([left, bottom, left + width, bottom + height])
            cost = self._cost(box) + _AWAY * far
            if cost < best:
                best, found, offset = cost, box, far
        self.taken.append(found)
        return (float(found[0]) - x) / self.pixels, (float(found[1]) - y) / self.pixels, offset > _NEAR

    def _cost(self, box: Floats) -> float:
        outside = bool((box[:2] < self.frame[:2]).any() or (box[2:] > self.frame[2:]).any())
        names = sum(bool((box[:2] < other[2:]).all() and (box[2:] > other[:2]).all()) for other in self.taken)
        inside = ((self.points > box[:2] - _FREE) & (self.points < box[2:] + _FREE)).all(axis=1)
        return _OUTSIDE * outside + _ON_A_NAME * names + _ON_A_POINT * int(np.count_nonzero(inside))
