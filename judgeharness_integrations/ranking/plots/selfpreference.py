"""Whether judges prefer answers of their own family more than other judges do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from judgeharness_integrations.ranking.plots.forest import (
    Row,
    draw_rows,
    name_rows,
    new_forest,
    note_rows,
    right_aligned,
)
from judgeharness_integrations.ranking.plots.looks import Looks
from judgeharness_integrations.ranking.plots.names import short_name
from judgeharness_integrations.ranking.plots.panels import head
from judgeharness_integrations.reporting.figures import INK, legend_below, save_figure, styled

if TYPE_CHECKING:
    from judgeharness_integrations.ranking.judges.selfpreference import SelfPreference

__all__ = ["draw_self_preference"]

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
