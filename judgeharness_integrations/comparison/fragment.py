"""A comparison as what a notebook shows: plain tables, which take the notebook's own style."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from judgeharness_integrations.comparison.facts import FLIP_COLUMNS, caveats, details, differences, flip_cells, titled
from judgeharness_integrations.comparison.report import ComparisonReport, CriterionComparison
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["comparison_fragment"]

_SHOWN: Final = 10


def comparison_fragment(report: ComparisonReport) -> str:
    """Return the answers, the first ten flips of each criterion, and everything that is told beside them."""
    return "\n".join(["<div>", *_parts(report), "</div>"])


def _parts(report: ComparisonReport) -> Iterator[str]:
    yield _table(
        "did it change?",
        ("judge and criterion", "answer", "why"),
        ((titled(one), one.answer, one.reason) for one in report.criteria),
    )
    changed = list(differences(report))
    if changed:
        yield "<h2>Configurations differ: a change may be the harness's</h2>" + _list(changed)
    for one in report.criteria:
        yield from _criterion(one)
    yield "<h2>To know</h2>" + _list(caveats(report))


def _criterion(one: CriterionComparison) -> Iterator[str]:
    yield f"<h2>{_text(titled(one))}</h2>"
    if one.flips:
        shown = one.flips[:_SHOWN]
        first = f", the first {len(shown)}" if len(shown) < len(one.flips) else ""
        yield _table(f"{len(one.flips)} flipped{first}", FLIP_COLUMNS, map(flip_cells, shown))
    yield _list(details(one))


def _table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{_text(column)}</th>' for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{_text(line)}</li>" for line in lines) + "</ul>"


def _text(text: str) -> str:
    return escape(safe_text(text, 600))
