"""Names beside points, where nothing else stands."""

from __future__ import annotations

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
_ASIDES, _UPS, _SIDES = np.array([*product(_ASIDE, _ABOVE, (-1, 0, 1))], np.float64).T  # each place of a name
_NEAR = 14  # points: farther names have a line to their point
_OUTSIDE, _ON_A_NAME, _ON_A_POINT, _AWAY = 1e4, 1e3, 50.0, 1.0  # what a place costs
_FREE = 3.0  # points that are kept free around a point


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
        left = x + _SIDES * _ASIDES * self.pixels - width * (1 - _SIDES) / 2
        bottom = y + _UPS * self.pixels - height / 2
        boxes = np.column_stack([left, bottom, left + width, bottom + height])
        far = np.hypot(_SIDES * _ASIDES, _UPS)
        best = int(np.argmin(self._costs(boxes) + _AWAY * far))
        self.taken.append(boxes[best])
        return (left[best] - x) / self.pixels, (bottom[best] - y) / self.pixels, bool(far[best] > _NEAR)

    def _costs(self, boxes: Floats) -> Floats:
        low, high = boxes[:, None, :2], boxes[:, None, 2:]
        outside = (boxes[:, :2] < self.frame[:2]).any(axis=1) | (boxes[:, 2:] > self.frame[2:]).any(axis=1)
        taken = np.reshape(self.taken, (-1, 4))
        names = ((low < taken[:, 2:]) & (high > taken[:, :2])).all(axis=2).sum(axis=1)
        free = _FREE * self.pixels
        points = ((self.points > low - free) & (self.points < high + free)).all(axis=2).sum(axis=1)
        costs: Floats = _OUTSIDE * outside + _ON_A_NAME * names + _ON_A_POINT * points
        return costs
