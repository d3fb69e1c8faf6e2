"""What the pictures of a ranking share: one look for each judge, names, panels, intervals, heat maps."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from judgeharness_integrations.analysis.ranking.correctness import Floats
from judgeharness_integrations.verdictlog.encoding import safe_text

from ..figures import COLOURS, GREY, INK, any_letter, lay_out, new_figure, plain_name

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

_LONGEST = 34
_READ = 400  # characters of a name that are looked at


def short_name(name: str, limit: int = _LONGEST) -> str:
    """Return a name on one line; a long one loses its middle, since judges of one model differ at the end."""
    text = safe_text(name, _READ)
    if len(text) > limit:
        tail = (limit - 1) // 2
        text = f"{text[: limit - 1 - tail]}…{text[-tail:]}"
    return plain_name(text or "(no name)", limit + 1)


def short_names(names: Iterable[str], limit: int = _LONGEST) -> dict[str, str]:
    """Return name -> short name; those that would look alike are numbered."""
    shown: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        short, times = short_name(name, limit), 1
        text = short
        while text in taken:
            times += 1
            text = f"{short} ({times})"
        shown[name] = text
        taken.add(text)
    return shown


PLAIN: Final = COLOURS[0]
_HOLLOW = "white"
_UNKNOWN = "#bcbcbc"


class Known(Protocol):
    """What is known of a judge (`JudgeFacts`, `JudgeMeasures`)."""

    @property
    def provider(self) -> str | None:
        """Who offers it."""

    @property
    def open(self) -> bool | None:
        """Whether its weights are open."""


@dataclass(frozen=True, kw_only=True)
class Looks:
    """Colours and openness of judges.

    `colours`: judge -> colour; `providers`: name -> colour, in order of the legend; `is_open`: judge -> whether it is.
    """

    colours: Mapping[str, str] = field(default_factory=dict)
    providers: Mapping[str, str] = field(default_factory=dict)
    is_open: Mapping[str, bool | None] = field(default_factory=dict)

    def colour(self, judge: str) -> str:
        """Return a judge's colour."""
        return self.colours.get(judge, PLAIN)

    def marker(self, judge: str) -> dict[str, Any]:
        """Return how a judge's point looks, as matplotlib takes it."""
        colour = self.colour(judge)
        face = _HOLLOW if self.is_open.get(judge) is False else colour
        return {"marker": "o", "markeredgecolor": colour, "markerfacecolor": face, "markeredgewidth": 1.4}

    def handles(self) -> list[Artist]:
        """Return what a legend has to explain; nothing where nothing is known of the judges."""
        from matplotlib.lines import Line2D  # noqa: PLC0415 - few draw

        points: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 6, "markeredgewidth": 1.4}
        shown = short_names(self.providers)
        found: list[Artist] = [
            Line2D([], [], color=colour, label=shown[name], **points) for name, colour in self.providers.items()
        ]
        for kind, is_open, face in (("open weights", True, INK), ("proprietary", False, _HOLLOW)):
            if False in self.is_open.values() and is_open in self.is_open.values():
                found.append(Line2D([], [], color=INK, markerfacecolor=face, label=kind, **points))
        return found


def looks_of(known: Mapping[str, Known]) -> Looks:
    """Return the looks of judges; the providers with most judges have colours of their own, the others share grey."""
    count = Counter(one.provider for one in known.values() if one.provider is not None)
    names = [name for name, _ in sorted(count.items(), key=lambda item: (-item[1], item[0]))]
    own = names if len(names) <= len(COLOURS) else names[: len(COLOURS) - 1]
    colours: dict[str, str] = dict(zip(own, COLOURS, strict=False))
    legend: dict[str, str] = dict(colours)
    if len(own) < len(names):
        legend[f"{len(names) - len(own)} other providers"] = GREY
    if names and any(one.provider is None for one in known.values()):
        legend["provider not given"] = _UNKNOWN

    def colour(provider: str | None) -> str:
        if not names:
            return PLAIN
        return _UNKNOWN if provider is None else colours.get(provider, GREY)

    return Looks(
        colours={judge: colour(one.provider) for judge, one in known.items()},
        providers=legend,
        is_open={judge: one.open for judge, one in known.items()},
    )


ALL = "all"
NONE = "\u2013"  # where a number would stand
_LETTERS_AN_INCH = 12  # of a title
_LINE = 0.2  # inches
_MINUS = "\u2212"
_SEPARATORS = " /_-.,:@"


def new_panels(
    panels: int, *, most_columns: int = 3, width: float = 4.2, height: float = 3.4
) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure with so many axes, in rows of nearly the same length; spare places at the end stay empty."""
    rows = math.ceil(panels / most_columns)
    columns = math.ceil(panels / rows)
    figure, axes = new_figure(columns, rows, width=width, height=height)
    for spare in axes[panels:]:
        spare.set_axis_off()
    return figure, [axes[start : min(start + columns, panels)] for start in range(0, panels, columns)]


def head(figure: Figure, text: str, note: str = "") -> None:
    """Give a figure its title, at the left, and under it how to read it; both are wrapped, and have their room."""
    width, height = figure.get_size_inches()
    letters = int(width * _LETTERS_AN_INCH)
    lines = [*textwrap.wrap(text, letters), *textwrap.wrap(note, letters)]
    figure.set_size_inches(width, height + _LINE * len(lines))
    shown = "\n".join(lines)
    figure.suptitle(shown, x=0.01, ha="left", fontsize=10.5, color=INK, parse_math=False, linespacing=1.4)


def label_edges(rows: Sequence[Sequence[Axes]], x_label: str, y_label: str) -> None:
    """Label the first panel of each line at the left, and the panels with none below them."""
    for place, line in enumerate(rows):
        line[0].set_ylabel(y_label)
        below = len(rows[place + 1]) if place + 1 < len(rows) else 0
        for panel in line[below:]:
            panel.set_xlabel(x_label)


def title_of(axes: Axes, text: str, *, width: float) -> None:
    """Give a panel its title, on two lines where `width` inches ask for it."""
    letters = max(8, int(width * _LETTERS_AN_INCH))
    shown = short_name(text, 2 * letters - 2)
    if len(shown) > letters:
        breaks = [place for place, letter in enumerate(shown[:letters], 1) if letter in _SEPARATORS]
        least = len(shown) - letters
        place = max((place for place in breaks if place >= least), default=letters)
        shown = f"{shown[:place].rstrip()}\n{shown[place:]}"
    axes.set_title(shown, loc="left", fontsize=9.5)


def group_title(criterion: str | None, group: str | None, criteria: Sequence[str]) -> str:
    """Return what a panel shows: its group, and the criterion where there are several."""
    parts = [criterion] if criterion is not None and len(set(criteria)) > 1 else []
    return ", ".join([*parts, ALL if group is None else group])


def signed(value: float, digits: int = 0) -> str:
    """Return a number with its sign; what rounds to 0 has none."""
    text = f"{abs(value):.{digits}f}"
    if not float(text):
        return text
    return f"{'+' if value > 0 else _MINUS}{text}"


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


_ROW = 0.21  # inches
_FRAME = 0.95  # inches for title and axis
_FEW = 8  # rows, below which they stand further apart
_WIDE_ROW = 0.3
_BAND = "#f4f4f4"
_FIGURE_SPACE = "\u2007"
_SCALE_ABOVE = 30  # rows, from which on the scale stands above as well


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row: a value, its interval (low, high) where it has one, a note at the right, and how its point looks.

    A muted row's note is grey: nothing was measured there.
    """

    name: str
    value: float | None
    interval: tuple[float, float] | None = None
    note: str = ""
    marker: Mapping[str, Any] = field(default_factory=dict)
    colour: str = INK
    muted: bool = False


def new_forest(
    rows: int, panels: int = 1, *, width: float = 7.2, row: float | None = None
) -> tuple[Figure, list[Axes]]:
    """Return a figure for so many rows, `row` inches each, the panels side by side; `width` inches in all."""
    each = (_WIDE_ROW if rows <= _FEW else _ROW) if row is None else row
    return new_figure(panels, width=width / panels, height=_FRAME + rows * each)


def draw_rows(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw points and intervals, with bands that lead the eye from the name to the note."""
    for place, row in enumerate(rows):
        if place % 2:
            axes.axhspan(place - 0.5, place + 0.5, color=_BAND, linewidth=0, zorder=-1)
        if row.value is None:
            continue
        if row.interval is not None:
            axes.plot(row.interval, [place, place], color=row.colour, linewidth=1.5, solid_capstyle="butt", zorder=2)
        look: dict[str, Any] = {"marker": "o", "color": row.colour, "markersize": 5.5, "zorder": 4, **row.marker}
        axes.plot(row.value, place, **look)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    if len(rows) > _SCALE_ABOVE:
        axes.tick_params(axis="x", top=True, labeltop=True)


def name_rows(axes: Axes, names: Sequence[str], *, before: Sequence[str] = ()) -> None:
    """Name the rows at the left, each after a text of its own (a rank)."""
    shown = list(short_names(names).values())
    if before:
        longest = max(map(len, before))
        shown = [f"{name}   {right_aligned(text, longest)}" for name, text in zip(shown, before, strict=True)]
    axes.set_yticks(range(len(names)), shown, parse_math=False)


def note_rows(axes: Axes, rows: Sequence[Row], *, title: str) -> None:
    """Write the rows' notes at the right, under a title."""
    right = axes.secondary_yaxis("right")
    right.set_yticks(range(len(rows)), [row.note for row in rows], fontsize=8.5, parse_math=False)
    right.tick_params(axis="y", length=0)
    right.spines["right"].set_visible(False)
    for label, row in zip(right.get_yticklabels(), rows, strict=True):
        label.set_color(GREY if row.muted else INK)
    axes.annotate(
        title,
        (1, 1),
        xytext=(3.5, 7),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=8.5,
        color=GREY,
        annotation_clip=False,
    )


def right_aligned(text: str, length: int) -> str:
    """Return a number padded with spaces as wide as a digit, so that columns of numbers stand in line."""
    return text.rjust(length, _FIGURE_SPACE)


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
