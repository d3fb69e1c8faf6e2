"""A comparison as text: did it change, by how much, is it more than noise, what flipped; then the details."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from judgeharness_integrations.cli._printing import safe, table
from judgeharness_integrations.comparison.facts import FLIP_COLUMNS, caveats, details, differences, flip_cells, titled
from judgeharness_integrations.comparison.report import ComparisonReport, CriterionComparison

__all__ = ["comparison_text"]

_LONGEST: Final = 800
_MOST_FLIPS: Final = 10
_MOST_CRITERIA: Final = 4


def comparison_text(report: ComparisonReport, *, width: int, every: bool = False) -> Iterator[RenderableType]:
    """Yield the parts of a report for a terminal of so many characters; `every`: all flipped cases."""
    yield safe(f"{report.before} -> {report.after}", 200)
    changed = list(differences(report))
    if changed:
        yield Text("\nconfigurations differ: a change may be the harness's", style="bold")
        yield from _told(changed, width)
        yield Text()
    for one in report.criteria:
        yield Text.assemble((f"{titled(one)}: ", ""), (one.answer, "bold"))
        yield from _told([one.reason], width, bullet="  ")
    for one in report.criteria:
        if one.flips:
            yield from _flips(one, whole=every)
    crowded = len(report.criteria) > _MOST_CRITERIA and not every
    for one in () if crowded else report.criteria:
        yield Text(f"\n{titled(one)}", style="bold")
        yield from _told(details(one), width)
    if crowded:
        yield "details of each criterion: --all, or --json"
    yield Text("\nto know", style="bold")
    yield from _told(caveats(report), width)


def _flips(one: CriterionComparison, *, whole: bool) -> Iterator[RenderableType]:
    shown = one.flips if whole else one.flips[:_MOST_FLIPS]
    order = ", least likely under noise first" if any(flip.p is not None for flip in one.flips) else ""
    rows = [[safe(cell, 120) for cell in flip_cells(flip)] for flip in shown]
    yield table(f"{titled(one)}: {len(one.flips)} flipped{order}", FLIP_COLUMNS, rows, texts=5)
    if len(shown) < len(one.flips):
        yield f"and {len(one.flips) - len(shown)} more: --all lists them"


def _told(lines: Iterable[str], width: int, *, bullet: str = "- ") -> Iterator[Text]:
    for line in lines:
        text = safe(line, _LONGEST).plain
        indent = " " * len(bullet)
        yield Text(textwrap.fill(text, width, initial_indent=bullet, subsequent_indent=indent, break_on_hyphens=False))
