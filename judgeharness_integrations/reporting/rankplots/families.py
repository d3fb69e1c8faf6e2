"""Judges by family and prompt, and the classes they prefer and mistake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.analysis.ranking.families import (
    NO_DECISION,
    ClassBias,
    Confusion,
    SelfPreference,
    Variant,
    pareto,
)
from judgeharness_integrations.verdictlog.encoding import p_text

from ..figures import COLOURS, INK, MARKERS, legend_below, new_figure, save_figure, styled
from .leaderboard import along, draw_step, named_of
from .style import (
    NONE,
    Cell,
    Looks,
    Row,
    draw_heat,
    draw_rows,
    group_title,
    head,
    label_height,
    name_points,
    name_rows,
    new_forest,
    new_panels,
    note_rows,
    right_aligned,
    short_name,
    short_names,
    signed,
    title_of,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage


_REASON = 60  # letters
_COLUMNS = (5, 8, 8)  # letters of the title that end where the numbers do


def draw_self_preference(entries: Sequence[SelfPreference], folder: Path, *, looks: Looks | None = None) -> list[Path]:
    """Draw `self_preference`: own minus others' rate with its 95 % interval, the largest on top.

    Judges for which nothing was measured stand below, with the reason.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    if not any(one.difference is not None for one in entries):
        return []
    looks = looks or Looks()
    order = sorted(entries, key=lambda one: (one.difference is None, -(one.difference or 0.0)))
    rows = [
        Row(
            name=one.judge,
            value=None if one.difference is None else 100 * one.difference,
            interval=None if one.ci95 is None else (100 * one.ci95[0], 100 * one.ci95[1]),
            note=_note(one),
            marker=looks.marker(one.judge),
            colour=looks.colour(one.judge),
            muted=one.difference is None,
        )
        for one in order
    ]
    with styled():
        figure, (axes,) = new_forest(len(rows), width=8.4)
        axes.axvline(0, color=INK, linewidth=1)
        draw_rows(axes, rows)
        name_rows(axes, [one.judge for one in order])
        note_rows(axes, rows, title="".join(map(right_aligned, ("own", "others", "pairs"), _COLUMNS)))
        axes.set_xlabel("own family's win rate minus the other judges', percentage points; bars: 95 % interval")
        head(figure, "Self-preference, on pairs with one answer of the judge's own family")
        legend_below(figure, axes, looks.handles())
        return save_figure(figure, folder, "self_preference")


def _note(one: SelfPreference) -> str:
    if one.own_rate is None or one.others_rate is None:
        return short_name(one.reason or "not measured", _REASON)
    rates = [right_aligned(f"{rate:.0%}", 5) for rate in (one.own_rate, one.others_rate)]
    return f"{rates[0]}   {rates[1]}   {right_aligned(str(one.pairs), 5)}"


_BASE = "base prompt"
_NOTE = "hollow: base prompt; line: variants that none beats at their tokens"
_RIGHT = "labelled cases judged right"
_BARS = "; bars: 95 % interval of the difference to the base"


def draw_variants(variants: Sequence[Variant], folder: Path) -> list[Path]:
    """Draw `variants`, what is right and Elo against tokens, and `variants_difference`, what is right minus the base's.

    Without tokens there is no front; without a difference nothing is compared.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    looks = _looks(variants)
    return [*_against_tokens(variants, folder, looks), *_differences(variants, folder, looks)]


def _looks(variants: Sequence[Variant]) -> dict[str, dict[str, Any]]:
    """Return model -> how its points look."""
    models = dict.fromkeys(one.model for one in variants)
    return {
        model: {
            "color": COLOURS[place % len(COLOURS)],
            "marker": MARKERS[(place + place // len(COLOURS)) % len(MARKERS)],
        }
        for place, model in enumerate(models)
    }


def _against_tokens(variants: Sequence[Variant], folder: Path, looks: Mapping[str, dict[str, Any]]) -> list[Path]:
    measures = {
        _RIGHT: {one.judge: one.right_of_labelled for one in variants},
        "Elo": {one.judge: one.elo for one in variants},
    }
    shown = {
        name: found
        for name, values in measures.items()
        if (
            found := {
                one.judge: (one.tokens, value)
                for one in variants
                if one.tokens is not None and (value := values[one.judge]) is not None
            }
        )
    }
    if not shown:
        return []
    with styled():
        figure, axes = new_figure(len(shown), width=5.4 + (len(shown) == 1), height=4.4)
        fronts = [
            _panel(panel, variants, places, name, looks)
            for panel, (name, places) in zip(axes, shown.items(), strict=True)
        ]
        head(figure, "Prompt variants against tokens", _NOTE + _BARS * (_RIGHT in shown))
        legend_below(figure, axes[0], _handles(looks))
        for panel, (named, others) in zip(axes, fronts, strict=True):
            name_points(figure, panel, named, others)
        return save_figure(figure, folder, "variants")


def _panel(
    axes: Axes,
    variants: Sequence[Variant],
    places: Mapping[str, tuple[float, float]],
    name: str,
    looks: Mapping[str, dict[str, Any]],
) -> tuple[list[tuple[str, float, float]], list[tuple[float, float]]]:
    """Draw points and front; return the judges to name with their places, and places that names keep away from."""
    barred: list[tuple[float, float]] = []
    for one in variants:
        if one.judge not in places:
            continue
        x, y = places[one.judge]
        look = looks[one.model]
        if name == _RIGHT and one.ci95 is not None and one.difference is not None:
            low, high = (y - one.difference + bound for bound in one.ci95)
            axes.plot(
                [x, x], [low, high], color=look["color"], linewidth=6, alpha=0.25, solid_capstyle="butt", zorder=0.9
            )
            barred += along(axes, (x, low), (x, high))
        inside: dict[str, Any] = {"markeredgecolor": "white"}
        if one.is_base:
            inside = {"markerfacecolor": "white", "markeredgewidth": 1.6}
        axes.plot(x, y, **look, **inside, linestyle="none", markersize=6.5, zorder=4)
    axes.margins(x=0.12, y=0.12)
    axes.set(xlim=(max(0.0, axes.get_xlim()[0]), None), ylim=(max(0.0, axes.get_ylim()[0]), None))
    axes.set(xlabel="tokens per pair", ylabel=name)
    found = pareto(places)
    line = draw_step(axes, [(one.x, one.y) for one in found if one.on_front])
    return [(judge, *places[judge]) for judge in named_of(found)], [*places.values(), *barred, *line]


def _handles(looks: Mapping[str, dict[str, Any]]) -> list[Artist]:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - few draw

    shown = short_names(looks)
    return [
        Line2D([], [], linestyle="none", markersize=6.5, label=shown[model], **look) for model, look in looks.items()
    ]


def _differences(variants: Sequence[Variant], folder: Path, looks: Mapping[str, dict[str, Any]]) -> list[Path]:
    if not any(one.difference is not None for one in variants):
        return []
    rows = [
        Row(
            name=one.judge,
            value=0.0 if one.is_base else None if one.difference is None else 100 * one.difference,
            interval=None if one.ci95 is None else (100 * one.ci95[0], 100 * one.ci95[1]),
            note=_note_of_variants(one),
            marker=looks[one.model] | ({"markerfacecolor": "white"} if one.is_base else {}),
            colour=looks[one.model]["color"],
            muted=one.difference is None,
        )
        for one in variants
    ]
    with styled():
        figure, (axes,) = new_forest(len(rows), width=7.8)
        axes.axvline(0, color=INK, linewidth=1)
        draw_rows(axes, rows)
        name_rows(axes, [one.judge for one in variants])
        note_rows(axes, rows, title="difference   p   right")
        axes.set_xlabel(
            "labelled cases judged right minus that of the base prompt, percentage points; bars: 95 % interval"
        )
        head(figure, "Prompt variants against the base prompt, on the same pairs", "p: adjusted over all variants")
        return save_figure(figure, folder, "variants_difference")


def _note_of_variants(one: Variant) -> str:
    share = one.right_of_labelled
    right = "" if share is None else right_aligned(f"{share:.1%}", 6)
    if one.is_base or one.difference is None:
        return f"{_BASE if one.is_base else 'not compared'}   {right}"
    p = right_aligned(p_text(one.p_adjusted, none=NONE), 5)
    return f"{right_aligned(signed(100 * one.difference, 1), 5)}   {p}   {right}"


Panel = tuple[str, str | None]  # criterion, group

_MOST_PANELS = 8
_ROW, _FRAME, _SMALLEST = 0.22, 1.3, 6.2  # inches
_COLUMN, _NARROWEST = 0.52, 1.3  # inches
_NAMES = 2.6  # inches
_SMALLEST_SCALE = 0.1
_CLASSBIAS_NOTE = "above 0: given too often; bold: 95 % interval without 0"


def draw_class_bias(biases: Sequence[ClassBias], folder: Path, *, order: Sequence[str] = ()) -> list[Path]:
    """Draw `class_bias`: judges x labels, a panel for all data and, where they are few, for each group and criterion.

    Numbers are percentage points; bold where the 95 % interval leaves out 0. `order`: judges from top to bottom.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    if not biases:
        return []
    panels = list(dict.fromkeys((one.criterion, one.group) for one in biases))
    whole = [panel for panel in panels if panel[1] is None]
    shown = (whole if len(panels) > _MOST_PANELS and whole else panels)[:_MOST_PANELS]
    judges = _ordered(biases, order)
    labels = {panel: _labels(biases, panel) for panel in shown}
    size = max(_NARROWEST, _COLUMN * max(map(len, labels.values())))
    with styled():
        width = max(size + _NAMES / len(shown), _SMALLEST / len(shown))
        height = _FRAME + _ROW * len(judges) + max(map(label_height, labels.values()))
        figure, axes = new_figure(len(shown), width=width, height=height)
        images = _maps(axes, biases, labels, judges)
        for axis, panel in zip(axes, shown, strict=True):
            title_of(axis, group_title(*panel, [name for name, _ in shown]), width=size)
        beyond = any((one.bias or 0.0) > images[0].get_clim()[1] for one in biases)
        _explain(figure, axes, images[0], extend="max" if beyond else "neither")
        left_out = len({group for _, group in panels} - {group for _, group in shown})
        more = f" (groups not shown: {left_out})" if left_out else ""
        head(figure, f"Class bias: predicted minus true share{more}", _CLASSBIAS_NOTE)
        return save_figure(figure, folder, "class_bias")


def _maps(
    axes: Sequence[Axes], biases: Sequence[ClassBias], labels: Mapping[Panel, Sequence[str]], judges: Sequence[str]
) -> list[AxesImage]:
    found = {(one.criterion, one.group, one.judge, one.label): one for one in biases}
    known = [one for one in biases if one.bias is not None and (one.criterion, one.group) in labels]
    scale = max([_SMALLEST_SCALE, *(abs(one.bias or 0.0) for one in known if one.label != NO_DECISION)])
    return [
        draw_heat(
            axes[place],
            [[_cell(found.get((*panel, judge, label))) for label in columns] for judge in judges],
            rows=[] if place else judges,
            columns=columns,
            colours="RdBu_r",
            limits=(-scale, scale),
        )
        for place, (panel, columns) in enumerate(labels.items())
    ]


def _explain(figure: Figure, axes: Sequence[Axes], image: AxesImage, *, extend: str) -> None:
    bar = figure.colorbar(image, ax=axes, extend=extend, location="bottom", shrink=0.7, aspect=45, pad=0.02)
    bar.ax.xaxis.set_major_formatter(lambda value, _: signed(100 * value, 1).removesuffix(".0"))
    bar.set_label("percentage points", fontsize=8.5)
    bar.outline.set_visible(False)


def _ordered(biases: Sequence[ClassBias], order: Sequence[str]) -> list[str]:
    known = dict.fromkeys(one.judge for one in biases)
    return [*(judge for judge in order if judge in known), *(judge for judge in known if judge not in set(order))]


def _labels(biases: Sequence[ClassBias], panel: Panel) -> list[str]:
    return list(dict.fromkeys(one.label for one in biases if (one.criterion, one.group) == panel))


def _cell(bias: ClassBias | None) -> Cell:
    if bias is None or bias.bias is None:
        return Cell(value=None)
    sure = bias.ci95 is not None and not bias.ci95[0] <= 0 <= bias.ci95[1]
    return Cell(value=bias.bias, text=signed(100 * bias.bias), bold=sure)


_CONFUSION_MOST_PANELS, _MOST_COLUMNS = 12, 4
_MOST_NUMBERS = 8  # labels, beyond which a panel shows colours alone
_CELL, _CONFUSION_SMALLEST, _LARGEST = 0.55, 1.1, 6.0  # inches
_GAP, _CONFUSION_FRAME, _BAR = 0.35, 0.45, 0.9  # inches: between panels, for titles, for the colours
_ONCE = 0.3  # of the room for names, where the first panel of a line alone has them
_A_LETTER, _LABEL = 0.085, 16  # inches; letters of a label
_CONFUSION_NOTE = "each row: shares of the pairs with that true label"
_POOLED = "all judges"


def draw_confusion(confusions: Sequence[Confusion], folder: Path, *, order: Sequence[str] = ()) -> list[Path]:
    """Draw `confusion`, a panel for all judges pooled and for each of the first; `confusion_by_group`, pooled by group.

    `order`: judges by rank; the first are shown, as they come without it. Cells: share of the true label's pairs.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    places = {judge: place for place, judge in enumerate(order)}
    groups = {group: place for place, group in enumerate(dict.fromkeys(one.group for one in confusions))}
    whole = sorted(
        (one for one in confusions if one.group is None),
        key=lambda one: -1 if one.judge is None else places.get(one.judge, len(places)),
    )
    grouped = sorted(
        (one for one in confusions if one.group is not None and one.judge is None),
        key=lambda one: groups[one.group],
    )
    return [
        *_drawn(whole, folder, "confusion", _judges_heading(whole)),
        *_drawn(grouped, folder, "confusion_by_group", _groups_heading(grouped)),
    ]


def _judges_heading(confusions: Sequence[Confusion]) -> str:
    judges = len({one.judge for one in confusions if one.judge is not None})
    shown = len({one.judge for one in confusions[:_CONFUSION_MOST_PANELS] if one.judge is not None})
    return "Confusion" + (f", the first {shown} of {judges} judges" if shown < judges else "")


def _groups_heading(confusions: Sequence[Confusion]) -> str:
    groups, shown = (len({one.group for one in some}) for some in (confusions, confusions[:_CONFUSION_MOST_PANELS]))
    more = f", the first {shown} of {groups} groups" if shown < groups else ""
    return f"Confusion, all judges pooled, by group{more}"


def _columns(shown: Sequence[Confusion]) -> int:
    """Return how many panels a line has: the criteria of one judge or group, where there are several."""
    criteria = len({one.criterion for one in shown})
    return criteria if 1 < criteria <= _MOST_COLUMNS else _MOST_COLUMNS


def _drawn(confusions: Sequence[Confusion], folder: Path, name: str, heading: str) -> list[Path]:
    if not confusions:
        return []
    shown = confusions[:_CONFUSION_MOST_PANELS]
    with styled():
        figure, rows, width = _canvas(shown)
        axes = [panel for line in rows for panel in line]
        images = [_panel_of_confusion(panel, one) for panel, one in zip(axes, shown, strict=True)]
        for panel, one in zip(axes, shown, strict=True):
            title_of(panel, _title(one, [other.criterion for other in shown]), width=width)
        if _alike(shown):
            _name_once(rows)
        figure.supxlabel("predicted", fontsize=9.5)
        figure.supylabel("true", fontsize=9.5)
        bar = figure.colorbar(images[0], ax=axes, aspect=30, pad=0.02)
        bar.outline.set_visible(False)
        head(figure, heading, _CONFUSION_NOTE)
        return save_figure(figure, folder, name)


def _canvas(shown: Sequence[Confusion]) -> tuple[Figure, list[list[Axes]], float]:
    """Return a figure with room for all names, its panels, and their width in inches."""
    true, predicted = max(len(one.true_labels) for one in shown), max(len(one.predicted_labels) for one in shown)
    width, height = (min(_LARGEST, max(_CONFUSION_SMALLEST, _CELL * labels)) for labels in (predicted, true))
    below = max(label_height(one.predicted_labels) for one in shown)
    names = _A_LETTER * min(_LABEL, max(len(label) for one in shown for label in one.true_labels))
    once = _alike(shown)
    figure, rows = new_panels(
        len(shown),
        most_columns=_columns(shown),
        width=width + _GAP + names * (_ONCE if once else 1),
        height=height + _CONFUSION_FRAME + below * (not once),
    )
    size = figure.get_size_inches()
    figure.set_size_inches(size[0] + _BAR, size[1] + _CONFUSION_FRAME + below * once)
    return figure, rows, width


def _alike(shown: Sequence[Confusion]) -> bool:
    """Return whether all panels have the same labels, so that they are named once."""
    return len({(one.true_labels, one.predicted_labels) for one in shown}) == 1


def _panel_of_confusion(axes: Axes, one: Confusion) -> AxesImage:
    numbers = len(one.predicted_labels) <= _MOST_NUMBERS
    return draw_heat(
        axes,
        [_cells(row, one, numbers=numbers) for row in one.row_normalised],
        rows=one.true_labels,
        columns=one.predicted_labels,
        colours="Blues",
        limits=(0, 1),
        longest=_LABEL,
    )


def _title(one: Confusion, criteria: Sequence[str]) -> str:
    if one.group is not None:
        return group_title(one.criterion, one.group, criteria)
    return group_title(one.criterion, _POOLED if one.judge is None else one.judge, criteria)


def _name_once(rows: Sequence[Sequence[Axes]]) -> None:
    """Name labels at the left of each line, and below the last panel of each column."""
    for place, line in enumerate(rows):
        below = len(rows[place + 1]) if place + 1 < len(rows) else 0
        for column, panel in enumerate(line):
            panel.tick_params(labelleft=column == 0, labelbottom=column >= below)
            for label in panel.get_xticklabels():
                label.set_in_layout(place + 1 == len(rows))  # else they stand where no panel is


def _cells(row: Sequence[float] | None, one: Confusion, *, numbers: bool) -> list[Cell]:
    if row is None:
        return [Cell(value=None)] * len(one.predicted_labels)
    return [Cell(value=value, text=f"{100 * value:.0f} %" if numbers else "") for value in row]
