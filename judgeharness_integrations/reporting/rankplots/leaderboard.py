"""The leaderboard, how hard its pairs are, and what quality costs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..figures import COLOURS, GREY, INK, legend_below, new_figure, save_figure, series_style, styled
from .style import (
    NONE,
    Looks,
    Row,
    draw_rows,
    head,
    looks_of,
    name_points,
    name_rows,
    new_forest,
    note_rows,
    right_aligned,
    short_name,
    short_names,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from judgeharness_integrations.analysis.ranking.correctness import Floats
    from judgeharness_integrations.analysis.ranking.families import ParetoPoint
    from judgeharness_integrations.analysis.ranking.rating import JudgeRank, RankReport
    from judgeharness_integrations.analysis.ranking.studying import AuditCurve, Curation

METHOD_NAMES: Final = {
    "bradley-terry": "Elo (Bradley-Terry)",
    "conditional": "Elo (conditional maximum likelihood)",
    "eip": "EIP",
}
_GROUP_MARKERS = ("^", "s", "x", "D", "+", "v")
_PLACES = {
    "above": "never beaten: no finite Elo",
    "below": "never wins: no finite Elo",
    "apart": "cannot be compared",
}
_WIDTH = 8.4  # inches
_BELOW = 0.28  # of a row: marks of groups stand so far below the interval


def draw_leaderboard(report: RankReport, folder: Path) -> list[Path]:
    """Draw `leaderboard`: all judges by rank; by EIP, which has no intervals, Bradley-Terry Elo stands beside it.

    Judges without a rating stand in their place, with the reason. Nothing is drawn where nobody has one.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    judges = report.judges
    rated_by_eip = report.method == "eip" and any(one.eip is not None for one in judges)
    if not report.rated and not rated_by_eip:
        return []
    looks = looks_of({one.judge: one.measures for one in judges})
    groups = sorted({name for one in judges for name, value in one.groups.items() if value is not None})
    marks = _group_marks(groups)
    with styled():
        figure, axes = new_forest(len(judges), 1 + rated_by_eip, width=_WIDTH + 2.2 * rated_by_eip)
        head(figure, _heading(report))
        if rated_by_eip:
            _panel(axes[0], judges, [Row(name=one.judge, value=one.eip) for one in judges], looks)
            axes[0].set_xlabel("EIP score")
            axes[1].set_yticks([])
        rows = [
            Row(name=one.judge, value=one.elo, interval=one.ci95, note=_note(one), muted=one.elo is None)
            for one in judges
        ]
        _panel(axes[-1], judges, rows, looks)
        _mark_groups(axes[0], judges, marks)
        name_rows(axes[0], [one.judge for one in judges], before=[_rank(one) for one in judges])
        note_rows(axes[-1], rows, title="Elo [95 % interval]  right")
        basis = "bradley-terry" if report.method == "eip" else report.method
        axes[-1].set_xlabel(f"{METHOD_NAMES[basis]}, judges' mean 1500")
        legend_below(figure, axes[0], [*looks.handles(), *_handles(report, marks)])
        return save_figure(figure, folder, "leaderboard")


def _panel(axes: Axes, judges: Sequence[JudgeRank], rows: Sequence[Row], looks: Looks) -> None:
    draw_rows(
        axes,
        [
            Row(
                name=row.name,
                value=row.value,
                interval=row.interval,
                note=row.note,
                marker=looks.marker(one.judge),
                colour=looks.colour(one.judge),
            )
            for one, row in zip(judges, rows, strict=True)
        ],
    )


def _heading(report: RankReport) -> str:
    return f"{len(report.judges)} judges, {report.n_pairs} pairs that tell them apart; rule: {short_name(report.rule)}"


def _rank(entry: JudgeRank) -> str:
    return NONE if entry.rank is None else str(entry.rank)


def _note(entry: JudgeRank) -> str:
    share = entry.right_of_labelled
    right = "" if share is None else "   " + right_aligned(f"{share:.1%}", 5)
    if entry.elo is None:
        return f"{_PLACES.get(entry.place, 'not rated')}{right}"
    interval = "" if entry.ci95 is None else f" [{_points(entry.ci95[0])}, {_points(entry.ci95[1])}]"
    return f"{_points(entry.elo)}{interval}{right}"


def _points(value: float) -> str:
    return right_aligned(f"{value:.0f}", 4)


def _group_marks(groups: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return group -> how its mark looks; many groups look the same."""
    if len(groups) > len(_GROUP_MARKERS):
        return {name: {"marker": "|", "color": GREY, "markersize": 6, "alpha": 0.7} for name in groups}
    return {
        name: {"marker": _GROUP_MARKERS[place], "color": GREY, "markersize": 3.6} for place, name in enumerate(groups)
    }


def _mark_groups(axes: Axes, judges: Sequence[JudgeRank], marks: dict[str, dict[str, Any]]) -> None:
    for group, mark in marks.items():
        found = [
            (value, place + _BELOW) for place, one in enumerate(judges) if (value := one.groups.get(group)) is not None
        ]
        axes.plot(*zip(*found, strict=True), linestyle="none", zorder=3, **mark)


def _handles(report: RankReport, marks: dict[str, dict[str, Any]]) -> list[Artist]:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - few draw

    if not marks:
        return []
    column = short_name(report.by or "")
    if len(marks) > len(_GROUP_MARKERS):
        mark = next(iter(marks.values()))
        return [Line2D([], [], linestyle="none", label=f"each of {len(marks)} groups by {column}", **mark)]
    shown = short_names(marks)
    return [Line2D([], [], linestyle="none", label=f"{column}: {shown[name]}", **mark) for name, mark in marks.items()]


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
        rows = [Row(name=name, value=None, note=_note_of_difficulty(values)) for name, values in groups.items()]
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
        head(figure, _heading_of_difficulty(by), (_DISCS if are_few else _VIOLINS) + _show_cut(axes, curation))
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


def _heading_of_difficulty(by: str | None) -> str:
    return "Difficulty of pairs" + ("" if by is None else f" by {short_name(by)}")


def _note_of_difficulty(values: Floats) -> str:
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


_MOST_CURVES = 12


def draw_audit(curves: Sequence[AuditCurve], folder: Path) -> list[Path]:
    """Draw `audit`: the share of each audit label found among the hardest pairs, most frequent labels first.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    known = sorted((one for one in curves if one.points), key=lambda one: -one.n_labelled)
    if not known:
        return []
    shown = known[:_MOST_CURVES]
    with styled():
        figure, (axes,) = new_figure(1, width=5.6, height=5.0)
        for place, one in enumerate(shown):
            style: dict[str, Any] = series_style(place) | {"marker": ""}
            axes.plot(*zip(*one.points, strict=True), label=_label(one), **style)
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":", label="nothing to do with difficulty")
        axes.set(
            xlim=(0, 1), ylim=(0, 1.01), xlabel="share of pairs, hardest first", ylabel="share of the labelled pairs"
        )
        more = f" ({len(shown)} of {len(known)} labels)" if len(shown) < len(known) else ""
        columns = ", ".join(dict.fromkeys(short_name(one.column) for one in shown))
        head(figure, f"Audit labels over the difficulty of {shown[0].n_pairs} pairs: {columns}{more}")
        legend_below(figure, axes)
        return save_figure(figure, folder, "audit")


def _label(one: AuditCurve) -> str:
    area = "" if one.area is None else f", area {one.area:.2f}"
    return f"{short_name(one.label)} ({one.n_labelled} pairs{area})"


Place = tuple[float, float]

_FEW = 12  # judges, up to which all are named
_BETWEEN = 48  # places of a line that names keep away from
_BESIDE = 2.5  # free judges stand so much left of the cheapest that is paid
_PARETO_MARGIN = 0.1
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
    axes.margins(x=_PARETO_MARGIN, y=_PARETO_MARGIN)
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
    room = max(_LEAST_ROOM, (max(paid) / min(paid)) ** _PARETO_MARGIN)
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
