"""Every picture of a study that has something to show, and how firm its order is."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.analysis.ranking.analyses import Portfolio
from judgeharness_integrations.analysis.ranking.rating import ranked
from judgeharness_integrations.analysis.ranking.studying import RankStudy

from ..figures import COLOURS, GREY, INK, legend_below, new_figure, save_figure, styled
from .families import draw_class_bias, draw_confusion, draw_self_preference, draw_variants
from .leaderboard import draw_audit, draw_difficulty, draw_leaderboard, draw_pareto
from .style import ALL, Looks, head, label_edges, looks_of, new_panels, right_aligned, short_name, short_names, title_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from judgeharness_integrations.analysis.ranking.comparing import Against, Comparison, RankCorrelation, Slope
    from judgeharness_integrations.analysis.ranking.firmness import StabilityPoint

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


_MOST_PANELS = 12
_WIDTH, _HEIGHT = 3.6, 2.9  # inches


def draw_stability(points: Sequence[StabilityPoint], folder: Path) -> list[Path]:
    """Draw `stability`: correlations with the full ranking over the share of matches, a panel for each group.

    Lines are means over draws, bands their 2.5th to 97.5th percentiles. Shares at which no draw could be rated have
    neither, and those at which fewer than half could have hollow points and no band. Nothing is drawn where no draw
    could be rated at all. By EIP, pairs are drawn and not matches.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    measured = _measured(points)
    if not measured:
        return []
    drawn = _drawn(points[0])
    shown = dict(list(measured.items())[:_MOST_PANELS])
    lows = [low for mine in shown.values() for one in mine for low in (one.spearman_low, one.kendall_low)]
    lowest = min([0.0, *(low for low in lows if low is not None)])
    with styled():
        figure, lines = new_panels(len(shown), width=_WIDTH + 1.2 * (len(shown) == 1), height=_HEIGHT)
        axes = [panel for line in lines for panel in line]
        for panel, (group, mine) in zip(axes, shown.items(), strict=True):
            _panel(panel, mine)
            title_of(panel, ALL if group is None else group, width=_WIDTH)
            panel.set(xlim=(0, 1), ylim=(lowest - 0.03, 1.03))
        label_edges(lines, f"share of the {drawn} drawn", "agreement with all of them")
        head(
            figure,
            f"Stability of the ranking under fewer {drawn}",
            _note_of_stability(list(shown.values()), len(measured) - len(shown)),
        )
        legend_below(figure, max(axes, key=lambda panel: len(panel.get_legend_handles_labels()[1])))
        return save_figure(figure, folder, "stability")


def _drawn(one: StabilityPoint) -> str:
    return "pairs" if one.method == "eip" else "matches"


def _note_of_stability(groups: Sequence[Sequence[StabilityPoint]], left_out: int) -> str:
    points = [one for mine in groups for one in mine]
    what = "" if _drawn(points[0]) == "pairs" else "a match is a judge on a pair; "
    draws = max(one.draws for one in points)
    hollow = "; hollow: fewer than half of the draws could be rated" if any(map(_is_hollow, points)) else ""
    more = f"; groups not drawn: {left_out} (in stability.csv)" if left_out else ""
    return f"{what}by {points[0].method}; lines: means of {draws} draws, bands: 95 % of them{hollow}{more}"


def _measured(points: Sequence[StabilityPoint]) -> dict[str | None, list[StabilityPoint]]:
    """Return group -> points by rising share, of groups where any correlation was measured."""
    groups: dict[str | None, list[StabilityPoint]] = {}
    for one in sorted(points, key=lambda one: one.fraction):
        groups.setdefault(one.group, []).append(one)
    order = dict.fromkeys(one.group for one in points)
    return {group: groups[group] for group in order if any(one.spearman is not None for one in groups[group])}


def _is_hollow(one: StabilityPoint) -> bool:
    """Return whether a point rests on fewer than half of its draws: those that could be rated are no fair sample."""
    return one.spearman is not None and 2 * one.unrated > one.draws


def _panel(axes: Axes, points: Sequence[StabilityPoint]) -> None:
    for name, colour, marker in (("spearman", COLOURS[0], "o"), ("kendall", COLOURS[1], "s")):
        _band(axes, points, name, colour)
        _line(axes, points, name, f"{name.capitalize()} correlation", color=colour, marker=marker)
    _line(axes, points, "top5", "overlap of the top 5", color=COLOURS[2], marker="^", linestyle=":")
    unrated = sum(one.unrated for one in points)
    if unrated:
        tried = sum(one.draws for one in points)
        text = f"{unrated} of {tried} draws could not be rated"
        axes.text(0.98, 0.03, text, transform=axes.transAxes, ha="right", fontsize=8, color=GREY)


def _band(axes: Axes, points: Sequence[StabilityPoint], name: str, colour: str) -> None:
    known = [one for one in points if getattr(one, f"{name}_low") is not None and not _is_hollow(one)]
    low, high = ([getattr(one, f"{name}_{end}") for one in known] for end in ("low", "high"))
    axes.fill_between([one.fraction for one in known], low, high, color=colour, alpha=0.18, linewidth=0)


def _line(axes: Axes, points: Sequence[StabilityPoint], name: str, label: str, **look: Any) -> None:
    known = [(one.fraction, getattr(one, name), _is_hollow(one)) for one in points if getattr(one, name) is not None]
    if not known:
        return
    axes.plot(*zip(*[place for *place, _ in known], strict=True), markersize=4, linewidth=1.5, label=label, **look)
    for *place, is_hollow in known:
        if is_hollow:
            axes.plot(*place, **look, markersize=4, markerfacecolor="white")


_RHO, _TAU = "\u03c1", "\u03c4"
_SIZE, _SMALLEST = 2.5, 4.6  # inches of a panel, and of the picture
_MOST_COLUMNS = 6
_OTHER_SCALE = 4.0  # how much wider one side's scale is, from which on ranks are compared
_LABEL, _LINE, _TITLE = 50, 26, 22  # letters


def draw_robustness(comparisons: Sequence[Comparison], folder: Path, *, looks: Looks | None = None) -> list[Path]:
    """Draw `robustness`: a line of panels for each comparison, all data first, then groups; ratings against y = x.

    Sides on different scales (Elo and EIP) are compared by rank. What could not be compared is counted below the title.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    told = [one for one in comparisons if one.points]
    if not told:
        return []
    lines = {name: [one for one in told if one.name == name] for name in dict.fromkeys(one.name for one in told)}
    columns = min(_MOST_COLUMNS, max(map(len, lines.values())))
    looks = looks or Looks()
    with styled():
        width = max(_SIZE, _SMALLEST / columns)
        figure, axes = new_figure(columns, len(lines), width=width, height=_SIZE + 0.6)
        for line, mine in enumerate(lines.values()):
            by_rank = _other_scale(mine)
            for column in range(columns):
                panel = axes[line * columns + column]
                if column >= len(mine):
                    panel.set_axis_off()
                    continue
                _panel_of_robustness(panel, mine[column], looks, by_rank=by_rank, labelled=column == 0)
        left_out = sum(max(0, len(mine) - columns) for mine in lines.values())
        more = f"; groups not drawn: {left_out} (in robustness.csv)" if left_out else ""
        silent = len(comparisons) - len(told)
        more += f"; comparisons not made: {silent} (rank.json says why)" if silent else ""
        head(
            figure,
            "Robustness: ratings under other choices",
            f"line: no change; {_RHO} Spearman, {_TAU} Kendall, r Pearson{more}",
        )
        legend_below(figure, axes[0], looks.handles())
        return save_figure(figure, folder, "robustness")


def _other_scale(comparisons: Sequence[Comparison]) -> bool:
    """Return whether x and y are on scales so different that a line y = x would mean nothing."""
    x = [one_x for one in comparisons for _, one_x, _ in one.points] or [0.0]
    y = [one_y for one in comparisons for _, _, one_y in one.points] or [0.0]
    wide, narrow = sorted((max(x) - min(x), max(y) - min(y)), reverse=True)
    return wide > _OTHER_SCALE * narrow > 0


def _panel_of_robustness(axes: Axes, one: Comparison, looks: Looks, *, by_rank: bool, labelled: bool) -> None:
    name = ALL if one.group is None else short_name(one.group, _TITLE)
    axes.set_title(f"{name} ({len(one.points)} judges)\n{_words_of_robustness(one)}", loc="left", fontsize=8.5)
    if labelled:
        word = ", rank" if by_rank else ""
        labels = [textwrap.fill(f"{short_name(label, _LABEL)}{word}", _LINE) for label in (one.x_label, one.y_label)]
        axes.set_xlabel(labels[0], fontsize=8.5)
        axes.set_ylabel(labels[1], fontsize=8.5)
    axes.tick_params(labelsize=7.5)
    x, y = ({judge: point[side] for judge, *point in one.points} for side in (0, 1))
    if by_rank:
        x, y = ({judge: float(rank) for judge, rank in ranked(side).items()} for side in (x, y))
    values = [*x.values(), *y.values()]
    room = 0.06 * (max(values) - min(values)) or 1.0
    limits = (min(values) - room, max(values) + room)
    axes.plot(limits, limits, color=GREY, linewidth=1, zorder=1)
    for judge in x:
        look: dict[str, Any] = looks.marker(judge) | {"markersize": 3.5, "markeredgewidth": 0.9, "alpha": 0.85}
        axes.plot(x[judge], y[judge], **look)
    axes.set(xlim=limits[::-1] if by_rank else limits, ylim=limits[::-1] if by_rank else limits, aspect="equal")
    axes.locator_params(nbins=4, steps=(1, 2, 5, 10), integer=by_rank)
    if by_rank:
        ticks = [tick for tick in axes.get_xticks() if 1 <= tick <= max(values)]
        axes.set(xticks=ticks, yticks=ticks)


def _words_of_robustness(one: Comparison) -> str:
    found = one.correlation
    known = {} if found is None else {_RHO: found.spearman, _TAU: found.kendall, "r": found.pearson}
    return "   ".join(f"{name} {value:.3f}" for name, value in known.items() if value is not None)


def draw_all(
    found: RankStudy, made: Portfolio, folder: Path, *, tell: Callable[[str], object]
) -> dict[str, list[Path]]:
    """Draw into a folder and return picture -> files, none where there is nothing to show.

    Args:
        found: the study.
        made: its analyses.
        folder: is made where it is missing.
        tell: is called with the name of each picture before it is drawn.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    files: dict[str, list[Path]] = {}
    for name, draw in _pictures(found, made, folder).items():
        tell(f"drawing {name}")
        files[name] = draw()
    return files


def _pictures(found: RankStudy, made: Portfolio, folder: Path) -> dict[str, Callable[[], list[Path]]]:
    """Return what draws each picture."""
    report = made.report
    order = [one.judge for one in report.judges]
    looks = looks_of({one.judge: one.measures for one in report.judges})
    return {
        "leaderboard": lambda: draw_leaderboard(report, folder),
        "difficulty": lambda: draw_difficulty(found.curation, folder, by=report.by),
        "class_bias": lambda: draw_class_bias(made.class_bias, folder, order=order),
        "confusion": lambda: draw_confusion(made.confusions, folder, order=order),
        "pareto_tokens": lambda: draw_pareto(made.tokens, folder, looks=looks),
        "pareto_money": lambda: draw_pareto(
            made.money, folder, name="pareto_money", x_label="money per pair", log=True, looks=looks
        ),
        "stability": lambda: draw_stability(made.stability, folder),
        "robustness": lambda: draw_robustness(made.robustness, folder, looks=looks),
        "audit": lambda: draw_audit(made.audit, folder),
        "self_preference": lambda: draw_self_preference(made.self_preference, folder, looks=looks),
        "variants": lambda: draw_variants(made.variants, folder),
        "slopes": lambda: [path for one in made.against for path in draw_slopes(one, folder)],
    }
