"""Pictures: one style, every figure as PNG and SVG; the curve of a calibration."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import NotInstalledError, UsageError
from judgeharness_integrations.verdictlog.encoding import safe_text

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from judgeharness_integrations.analysis.calibration.saved import CalibrationReport

__all__ = [
    "COLOURS",
    "GREY",
    "INK",
    "MARKERS",
    "any_letter",
    "check_drawable",
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
    """Draw accuracy against coverage, a line and its interval for each criterion, and return the files.

    Intervals are at `report.confidence`.

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
