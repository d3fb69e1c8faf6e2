"""Pictures: one style, every figure as PNG and SVG; calibrations, alternative annotator tests and coefficients."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from judgeharness_integrations._errors import NotInstalledError, UsageError
from judgeharness_integrations.verdictlog.plain import safe_text

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from judgeharness_integrations.analysis.agreement.alttestreport import AltTest, AltTestReport
    from judgeharness_integrations.analysis.agreement.kappatable import AgreementTable
    from judgeharness_integrations.analysis.calibration.saved import CalibrationReport

__all__ = [
    "COLOURS",
    "GREY",
    "INK",
    "MARKERS",
    "any_letter",
    "check_drawable",
    "draw_alt_test",
    "draw_kappa",
    "draw_risk_coverage",
    "lay_out",
    "legend_below",
    "name_ticks",
    "new_figure",
    "plain_name",
    "save_figure",
    "series_style",
    "styled",
]


# Okabe and Ito 2008: told apart also by people who are colour-blind. Purple and brown stand for its yellow, too pale
# for lines, and its black, which is the colour of texts.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6B4C9A", "#7F4F24")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK, GREY = "#222222", "#8a8a8a"
_DPI = 150
_DRAWER = ("matplotlib, which draws plots,", "report")
_LONGEST_NAME = 32
_LETTERS_AN_INCH, _HANDLE = 12, 8  # of a legend; a handle is as wide as so many letters
_LEGEND_LINE = 0.24  # inches
_MOST_ASLANT, _UPRIGHT = 20, 45
_STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "figure.autolayout": False,  # a reader's own settings, which would move what is settled
    "font.size": 9.5,
    "grid.color": "#e6e6e6",
    "text.color": INK,
    "text.parse_math": False,  # a name may hold dollars
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.fonttype": "none",  # texts stay texts
    "svg.hashsalt": "judgeharness",  # the same figure gives the same file
}


def check_drawable(folder: Path | None) -> None:
    """Refuse pictures that could not be drawn into a folder, before anything is measured or paid; None draws nothing.

    Raises:
        NotInstalledError: matplotlib is not installed.
        UsageError: the folder is a file.

    """
    if folder is None:
        return
    if (why := undrawable()) is not None:
        raise why
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--plot {str(folder)!r:.200} is a file: name a folder for the plots.")


def undrawable() -> NotInstalledError | None:
    """Return what keeps pictures from being drawn; None where they can be."""
    return NotInstalledError(*_DRAWER) if find_spec("matplotlib") is None else None


def new_figure(columns: int, rows: int = 1, *, width: float = 4.6, height: float = 3.6) -> tuple[Figure, list[Axes]]:
    """Return a figure of columns x rows axes, each `width` x `height` inches; no window, no global state.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    with styled():
        from matplotlib.figure import Figure as NewFigure  # noqa: PLC0415 - few draw

        figure = NewFigure(figsize=(width * columns, height * rows), dpi=_DPI, layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.flat)


def styled() -> AbstractContextManager[None]:
    """Return a context in which texts and lines that are added to a figure look like the rest, names as they are.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    try:
        from matplotlib import rc_context  # noqa: PLC0415 - few draw
    except ModuleNotFoundError:
        raise NotInstalledError(*_DRAWER) from None
    return rc_context(_STYLE)


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as `name`.png and `name`.svg and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for kind in ("png", "svg")]
    lay_out(figure)
    with styled(), any_letter():
        figure.savefig(paths[0], dpi=_DPI, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


def lay_out(figure: Figure) -> None:
    """Settle where everything of a figure stands, once: for texts that are placed beside it, and in all its files."""
    if figure.get_layout_engine() is not None:
        with styled(), any_letter():
            figure.draw_without_rendering()
            figure.set_layout_engine(None)


@contextmanager
def any_letter() -> Iterator[None]:
    """Measure and draw texts without a warning of letters that the font lacks."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # a box in the PNG, whole in the SVG
        yield


def plain_name(name: str, limit: int = _LONGEST_NAME) -> str:
    """Return a name as one short line that a legend shows as it is."""
    text = safe_text(name, limit)
    return f" {text}" if text.startswith("_") else text  # a legend would leave such a name out


def name_ticks(axes: Axes, names: Sequence[str], *, axis: str = "x", turned: bool = False) -> None:
    """Name the places 0, 1, 2 ... of an axis; turned names stand aslant, many of them upright."""
    which = axes.xaxis if axis == "x" else axes.yaxis
    angle = 35 if len(names) <= _MOST_ASLANT else 90
    turn: dict[str, Any] = {"rotation": angle, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    if turned and angle > _UPRIGHT:
        turn["va"] = "center"
    which.set_ticks(range(len(names)), [plain_name(name) for name in names], parse_math=False, **turn)


def legend_below(figure: Figure, axes: Axes, handles: Sequence[Artist] | None = None) -> None:
    """Put one legend for all axes below them, as wide as the figure: of the handles, or what these axes name."""
    known, names = axes.get_legend_handles_labels()
    if handles is None:
        handles = known
    else:
        names = [str(handle.get_label()) for handle in handles]
    if handles:
        room = figure.get_size_inches()[0] * _LETTERS_AN_INCH
        columns = max(1, int(room // (max(map(len, names)) + _HANDLE)))
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + _LEGEND_LINE * -(-len(names) // columns))
        legend = figure.legend(handles, names, loc="outside lower center", ncols=columns, frameon=False)
        for text in legend.get_texts():
            text.set_parse_math(False)


def series_style(place: int) -> dict[str, Any]:
    """Return colour, marker and line of a series; a second round of colours has dashed lines, a third dotted ones."""
    turn = place // len(COLOURS)
    return {
        "linestyle": ("-", "--", ":")[turn % 3],
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[(place + turn) % len(MARKERS)],
        "markersize": 5,
        "linewidth": 1.6,
    }


def draw_risk_coverage(report: CalibrationReport, folder: Path) -> list[Path]:
    """Draw accuracy against coverage, a line and its 95 % interval for each criterion, and return the files.

    Raises:
        NotInstalledError: matplotlib is not installed.
        UsageError: no decision of the report has a confidence to order it by.

    """
    curves = {name: one.risk_coverage for name, one in report.criteria.items() if one.risk_coverage is not None}
    if not curves:
        raise UsageError("there is no risk-coverage curve to draw: no decision was made from several samples.")
    figure, (axes,) = new_figure(1, width=5.6, height=4.2)
    for place, (name, curve) in enumerate(curves.items()):
        style = series_style(place)
        coverage = [point.coverage for point in curve.points]
        low, high = [point.low for point in curve.points], [point.high for point in curve.points]
        axes.fill_between(coverage, low, high, color=style["color"], alpha=0.15, linewidth=0)
        accuracy = [point.accuracy for point in curve.points]
        axes.plot(coverage, accuracy, label=plain_name(f"{name} ({curve.n} labelled)", 60), **style)
    axes.set(xlabel="coverage: share of all labelled items that is decided", ylabel="accuracy of what is decided")
    axes.set(xlim=(0, 1.02), ylim=(None, 1.005))
    axes.set_title(plain_name(f"risk and coverage: {report.judge}", 60), loc="left")
    legend_below(figure, axes)
    return save_figure(figure, folder, "risk_coverage")


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
