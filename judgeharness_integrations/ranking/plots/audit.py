"""Whether the pairs that people found wanting are the ones judges fail on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.ranking.plots.names import short_name
from judgeharness_integrations.ranking.plots.panels import head
from judgeharness_integrations.reporting.figures import (
    GREY,
    legend_below,
    new_figure,
    save_figure,
    series_style,
    styled,
)

if TYPE_CHECKING:
    from judgeharness_integrations.ranking.audit import AuditCurve

__all__ = ["draw_audit"]

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
