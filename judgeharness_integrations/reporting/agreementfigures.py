"""Pictures of agreement with people: alternative annotator tests, and coefficients of every two raters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .figures import GREY, INK, legend_below, name_ticks, new_figure, plain_name, save_figure, series_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from judgeharness_integrations.analysis.agreement.alttestreport import AltTest, AltTestReport
    from judgeharness_integrations.analysis.agreement.kappatable import AgreementTable

Panels: TypeAlias = "Mapping[str, Sequence[AltTest]]"
Styles: TypeAlias = "Mapping[str, dict[str, Any]]"
Draw: TypeAlias = "Callable[[Axes, Sequence[AltTest], Styles], Any]"

_PASSES = 0.5
_HEIGHT = 3.6  # inches of a panel
_DODGE = 0.2  # of a step, over all lines: those that lie on one another are told apart
_MOST_LETTERS = 44  # beyond, names stand aslant
_MOST_TICKS = 12
_A_LETTER = 0.05  # inches of height for a name aslant
_MOST_NUMBERS = 20  # beyond, a heat map shows colours alone
_COEFFICIENTS = {
    "cohen": "Cohen's kappa",
    "fleiss": "Fleiss' kappa",
    "alpha": "Krippendorff's alpha",
    "gwet": "Gwet's AC",
}
_LARGEST_MAP = 14.0  # inches
_CANDIDATE_BETTER, _HUMAN_BETTER = "#e3f1ea", "#fbece1"


def draw_alt_test(report: AltTestReport, folder: Path) -> list[Path]:
    """Draw a report, a panel for each score, and return the files.

    `omega`: winning rate over epsilon, where there are several. `advantage`: average advantage probability of each
    candidate with its 95 % interval, and that of the humans. `scatter`: the two by annotator.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    names = tuple(dict.fromkeys(entry.candidate for entry in report.candidates))
    styles = {name: series_style(place) for place, name in enumerate(names)}
    several = len({entry.epsilon for entry in report.candidates}) > 1
    panels: Panels = {
        score: [entry for entry in report.candidates if entry.score == score]
        for score in dict.fromkeys(entry.score for entry in report.candidates)
    }
    files = _drawn(folder, "omega", panels, styles, _omega) if several else []
    once = {score: list({entry.candidate: entry for entry in entries}.values()) for score, entries in panels.items()}
    taller = _A_LETTER * max(map(len, map(plain_name, names))) if _are_turned(names) else 0.0
    files += _drawn(folder, "advantage", once, styles, _advantage, taller=taller)
    return files + _drawn(folder, "scatter", once, styles, _scatter)


def _drawn(folder: Path, name: str, panels: Panels, styles: Styles, draw: Draw, *, taller: float = 0.0) -> list[Path]:
    columns = _columns(len(panels))
    figure, axes = new_figure(columns, math.ceil(len(panels) / columns), height=_HEIGHT + taller)
    for place, (score, entries) in enumerate(panels.items()):
        draw(axes[place], entries, styles)
        axes[place].set_title(plain_name(score), loc="left")
    for spare in axes[len(panels) :]:
        spare.set_axis_off()
    legend_below(figure, axes[0])
    return save_figure(figure, folder, name)


def _are_turned(names: Sequence[str]) -> bool:
    return len(names) * max(len(plain_name(name)) for name in names) > _MOST_LETTERS


def _columns(panels: int) -> int:
    return 2 if panels == 4 else min(panels, 3)  # noqa: PLR2004 - four panels are a square


def _omega(axes: Axes, entries: Sequence[AltTest], styles: Styles) -> None:
    steps = sorted({entry.epsilon for entry in entries})
    step = min(after - before for before, after in pairwise(steps))
    for place, (name, style) in enumerate(styles.items()):
        mine = sorted((entry for entry in entries if entry.candidate == name), key=lambda entry: entry.epsilon)
        moved = (place - (len(styles) - 1) / 2) / len(styles) * _DODGE * step
        points = [(entry.epsilon + moved, math.nan if entry.omega is None else entry.omega) for entry in mine]
        axes.plot(*zip(*points, strict=True), label=plain_name(name), **style)
    axes.axhline(_PASSES, color=INK, linewidth=1, linestyle="--", label="passes from here")
    axes.set(xlabel="epsilon" + " (multiplicative)" * entries[0].multiplicative, ylabel="omega (winning rate)")
    if len(steps) <= _MOST_TICKS:
        axes.set_xticks(steps, [f"{value:g}" for value in steps])
    axes.set_ylim(-0.05, 1.05)


def _advantage(axes: Axes, entries: Sequence[AltTest], styles: Styles) -> None:
    for place, entry in enumerate(entries):
        if entry.rho is None or entry.rho_human is None:
            axes.text(place, 0.02, "not testable", rotation=90, ha="center", color=GREY)
            continue
        axes.bar(place, entry.rho, width=0.62, color=styles[entry.candidate]["color"], alpha=0.85)
        if entry.rho_interval is not None:
            low, high = entry.rho_interval
            axes.errorbar(place, entry.rho, [[entry.rho - low], [high - entry.rho]], color=INK, capsize=3, linewidth=1)
        human = [place - 0.36, place + 0.36]
        axes.plot(
            human,
            [entry.rho_human] * 2,
            color=INK,
            linewidth=2.5,
            label=None if place else "humans, compared with the same candidate",
        )
    names = [entry.candidate for entry in entries]
    name_ticks(axes, names, turned=_are_turned(names))
    axes.set(ylabel="rho (average advantage probability)", ylim=(0, 1.05), xlim=(-1, len(names)))
    axes.grid(visible=False, axis="x")


def _scatter(axes: Axes, entries: Sequence[AltTest], styles: Styles) -> None:
    tested = [one for entry in entries for one in entry.annotators]
    low = max(0.0, min((min(one.rho_f, one.rho_h) for one in tested), default=0.0) - 0.05)
    line = [low, 1.02]
    axes.fill_between(line, line, 1.02, color=_CANDIDATE_BETTER, linewidth=0, label="candidate closer to the others")
    axes.fill_between(line, low, line, color=_HUMAN_BETTER, linewidth=0, label="human closer")
    axes.plot(line, line, color=GREY, linewidth=1)
    for entry in entries:
        style = styles[entry.candidate] | {"linestyle": "none", "markersize": 6, "alpha": 0.85}
        points = [(one.rho_h, one.rho_f) for one in entry.annotators] or [(math.nan, math.nan)]
        axes.plot(*zip(*points, strict=True), label=plain_name(entry.candidate), **style)
    axes.set(
        xlabel="rho_h (the human, by annotator)", ylabel="rho_f (the candidate)", xlim=line, ylim=line, aspect="equal"
    )


def draw_kappa(report: AgreementTable, folder: Path) -> list[Path]:
    """Draw the pairwise coefficients as heat maps and return the files.

    `kappa`: all raters, humans first; for sets a second picture, `kappa_by_label`, with a map for each label.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    size = min(_LARGEST_MAP, max(3.4, 0.62 * len(report.raters) + 1.6))
    figure, axes = new_figure(1, width=size + 1, height=size)
    _heat_map(axes[0], report)
    files = save_figure(figure, folder, "kappa")
    if report.per_label:
        columns = _columns(len(report.per_label))
        figure, axes = new_figure(columns, math.ceil(len(report.per_label) / columns), width=size, height=size)
        for place, (label, table) in enumerate(report.per_label.items()):
            _heat_map(axes[place], table, title=label)
        for spare in axes[len(report.per_label) :]:
            spare.set_axis_off()
        files += save_figure(figure, folder, "kappa_by_label")
    return files


def _heat_map(axes: Axes, table: AgreementTable, *, title: str | None = None) -> None:
    names = [*table.humans, *table.candidates]
    values = [[_value(table, one, other) for other in names] for one in names]
    weights = "" if table.weights == "none" else f", {table.weights} weights"
    measure = f"{_COEFFICIENTS[table.coefficient]}{weights}"
    axes.set_title(plain_name(measure if title is None else f"{title}: {measure}", 60), loc="left")
    image = axes.imshow(values, cmap="RdBu", vmin=-1, vmax=1)
    axes.set_facecolor("#dddddd")
    if title is None:
        bar = axes.figure.colorbar(image, ax=axes, shrink=0.7)
        bar.set_label("grey: not measured")
    name_ticks(axes, names, turned=True)
    name_ticks(axes, names, axis="y")
    axes.grid(visible=False)
    if len(table.humans) < len(names):
        for line in (axes.axhline, axes.axvline):
            line(len(table.humans) - 0.5, color="white", linewidth=3)
    if len(names) <= _MOST_NUMBERS:
        for row, line_of in enumerate(values):
            for column, value in enumerate(line_of):
                if not math.isnan(value):
                    shade = "white" if abs(value) > 0.6 else INK  # noqa: PLR2004 - where the colours turn dark
                    axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=shade, fontsize=8.5)


def _value(table: AgreementTable, one: str, other: str) -> float:
    found = None if one == other else table.pair(one, other)
    return math.nan if found is None or found.value is None else found.value
