"""The same judges ranked twice: who rises and who falls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from judgeharness_integrations.ranking.plots.forest import right_aligned
from judgeharness_integrations.ranking.plots.names import short_name, short_names
from judgeharness_integrations.ranking.plots.panels import head
from judgeharness_integrations.reporting.figures import (
    COLOURS,
    INK,
    legend_below,
    new_figure,
    save_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from judgeharness_integrations.ranking.comparing.against import Against, Slope
    from judgeharness_integrations.ranking.comparing.correlation import RankCorrelation

__all__ = ["draw_slopes"]

_RISES, _FALLS = COLOURS[2], COLOURS[1]
_SAME = "#b5b5b5"
_PLUS_MINUS = "\u00b1"
_ROW, _FRAME = 0.22, 1.1  # inches
_LINES, _A_LETTER = 5.2, 0.075  # inches of width
_LONGEST = 30  # letters of a name
_LARGEST_SCORE = 10.0  # EIP; Elo goes far beyond
_MOVED = 0.1  # of all ranks: a shift below is no colour worth


def draw_slopes(against: Against, folder: Path) -> list[Path]:
    """Draw `slopes`: judges by rank at both sides, lines between, generators of the answers in bold.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    slopes = against.slopes
    if not slopes:
        return []
    places = [_places(slopes, "rank"), _places(slopes, "rank_against")]
    with styled():
        longest = min(_LONGEST, max(len(one.judge) for one in slopes))
        figure, (axes,) = new_figure(1, width=_LINES + 2 * _A_LETTER * longest, height=_FRAME + _ROW * len(slopes))
        for one in slopes:
            ends = [side[one.judge] for side in places]
            colour = _colour(one, len(slopes))
            axes.plot(
                [0, 1],
                ends,
                color=colour,
                linewidth=2.6 if one.generator else 1.3,
                marker="D" if one.generator else "o",
                markersize=5 if one.generator else 4,
                clip_on=False,
            )
        _name_sides(axes, against, places)
        axes.set(xlim=(0, 1), ylim=(len(slopes) - 0.5, -0.5))
        axes.set_xticks([0, 1], [short_name(against.name), short_name(against.name_against)])
        axes.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
        axes.spines[:].set_visible(False)
        axes.grid(visible=False)
        head(figure, "Ranks and ratings of the same judges on two sets of pairs", _note(against))
        legend_below(figure, axes, _handles(slopes))
        return save_figure(figure, folder, "slopes")


def _places(slopes: Sequence[Slope], rank: str) -> dict[str, int]:
    """Return judge -> row; judges of the same rank stand one below the other."""
    order = sorted(slopes, key=lambda one: (getattr(one, rank), one.rank, one.judge))
    return {one.judge: place for place, one in enumerate(order)}


def _name_sides(axes: Axes, against: Against, places: Sequence[dict[str, int]]) -> None:
    shown = short_names([one.judge for one in against.slopes], _LONGEST)
    by_name = {one.judge: one for one in against.slopes}
    digits = 0 if any(abs(one.elo) > _LARGEST_SCORE for one in against.slopes) else 3
    left = [_left(by_name[judge], shown[judge], digits) for judge in places[0]]
    right = [_right(by_name[judge], shown[judge], digits) for judge in places[1]]
    axes.set_yticks(range(len(left)), left, parse_math=False)
    other = axes.secondary_yaxis("right")
    other.set_yticks(range(len(right)), right, parse_math=False)
    other.spines[:].set_visible(False)
    for side, judges in ((axes, places[0]), (other, places[1])):
        side.tick_params(axis="y", length=0, pad=8)
        for label, judge in zip(side.get_yticklabels(), judges, strict=True):
            label.set_fontweight("bold" if by_name[judge].generator else "normal")


def _left(one: Slope, name: str, digits: int) -> str:
    return f"{name}  {right_aligned(f'{one.elo:.{digits}f}', 4)}  {right_aligned(str(one.rank), 2)}"


def _right(one: Slope, name: str, digits: int) -> str:
    return f"{right_aligned(str(one.rank_against), 2)}  {right_aligned(f'{one.elo_against:.{digits}f}', 4)}  {name}"


def _colour(one: Slope, judges: int) -> str:
    shift = one.rank - one.rank_against
    if abs(shift) <= _MOVED * judges:
        return _SAME
    return _RISES if shift > 0 else _FALLS


def _handles(slopes: Sequence[Slope]) -> list[Artist]:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - few draw

    found = {_colour(one, len(slopes)) for one in slopes}
    ranks = int(_MOVED * len(slopes))
    same = f"about the same (rank {_PLUS_MINUS}{ranks})" if ranks else "same rank"
    known = ((_RISES, "rises"), (_FALLS, "falls"), (_SAME, same))
    handles: list[Artist] = [
        Line2D([], [], color=colour, marker="o", label=text) for colour, text in known if colour in found
    ]
    if any(one.generator for one in slopes):
        handles.append(
            Line2D([], [], color=INK, linewidth=2.6, marker="D", label="thick, in any colour: wrote answers")
        )
    return handles


def _note(against: Against) -> str:
    whole = _words(against.correlation)
    rest = _words(against.correlation_without_generators)
    parts = [whole, rest and f"without judges that wrote answers: {rest}"]
    return "; ".join(part for part in parts if part)


def _words(correlation: RankCorrelation | None) -> str:
    if correlation is None or correlation.spearman is None or correlation.kendall is None:
        return ""
    return f"Spearman {correlation.spearman:.2f}, Kendall {correlation.kendall:.2f} ({correlation.judges} judges)"
