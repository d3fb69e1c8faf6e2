"""The leaderboard: judges by rank, Elo with its 95 % interval, small marks for the groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations.ranking.plots.forest import (
    Row,
    draw_rows,
    name_rows,
    new_forest,
    note_rows,
    right_aligned,
)
from judgeharness_integrations.ranking.plots.looks import Looks, looks_of
from judgeharness_integrations.ranking.plots.names import short_name, short_names
from judgeharness_integrations.ranking.plots.panels import NONE, head
from judgeharness_integrations.reporting.figures import GREY, legend_below, save_figure, styled

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from judgeharness_integrations.ranking.report import JudgeRank, RankReport

__all__ = ["METHOD_NAMES", "draw_leaderboard"]

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
        note_rows(axes[-1], rows, title="Elo [95 % interval]  accuracy")
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
    accuracy = "" if entry.accuracy is None else "   " + right_aligned(f"{entry.accuracy:.1%}", 5)
    if entry.elo is None:
        return f"{_PLACES.get(entry.place, 'not rated')}{accuracy}"
    interval = "" if entry.ci95 is None else f" [{_points(entry.ci95[0])}, {_points(entry.ci95[1])}]"
    return f"{_points(entry.elo)}{interval}{accuracy}"


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
