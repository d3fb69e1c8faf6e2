"""The prompt or the judge: what variants of a model's prompt gain, and for how many tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.ranking.judges.pareto import pareto
from judgeharness_integrations.ranking.plots.forest import (
    Row,
    draw_rows,
    name_rows,
    new_forest,
    note_rows,
    right_aligned,
)
from judgeharness_integrations.ranking.plots.names import short_names
from judgeharness_integrations.ranking.plots.panels import NONE, head, signed
from judgeharness_integrations.ranking.plots.pareto import along, draw_step, named_of
from judgeharness_integrations.ranking.plots.pointlabels import name_points
from judgeharness_integrations.reporting.figures import (
    COLOURS,
    INK,
    MARKERS,
    legend_below,
    new_figure,
    save_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from judgeharness_integrations.ranking.judges.variants import Variant

__all__ = ["draw_variants"]

_BASE = "base prompt"
_NOTE = "hollow: base prompt; line: variants that none beats at their tokens"
_BARS = "; bars: 95 % interval of the difference to the base"
_SMALLEST_P = 0.001


def draw_variants(variants: Sequence[Variant], folder: Path) -> list[Path]:
    """Draw `variants`, accuracy and Elo against tokens, and `variants_difference`, accuracy minus that of the base.

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
        "accuracy": {one.judge: one.accuracy for one in variants},
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
        head(figure, "Prompt variants against tokens", _NOTE + _BARS * ("accuracy" in shown))
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
        if name == "accuracy" and one.ci95 is not None and one.difference is not None:
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
            note=_note(one),
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
        note_rows(axes, rows, title="difference   p   accuracy")
        axes.set_xlabel("accuracy minus that of the base prompt, percentage points; bars: 95 % interval")
        head(figure, "Prompt variants against the base prompt, on the same pairs", "p: adjusted over all variants")
        return save_figure(figure, folder, "variants_difference")


def _note(one: Variant) -> str:
    accuracy = "" if one.accuracy is None else right_aligned(f"{one.accuracy:.1%}", 6)
    if one.is_base or one.difference is None:
        return f"{_BASE if one.is_base else 'not compared'}   {accuracy}"
    return f"{right_aligned(signed(100 * one.difference, 1), 5)}   {_p(one.p_adjusted)}   {accuracy}"


def _p(value: float | None) -> str:
    if value is None:
        return NONE.center(6)
    return "< .001" if value < _SMALLEST_P else f"= {value:.3f}".replace("0.", ".", 1)
