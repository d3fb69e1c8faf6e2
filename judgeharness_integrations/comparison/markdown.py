"""A comparison as GitHub's Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from judgeharness_integrations.comparison.facts import FLIP_COLUMNS, caveats, details, differences, flip_cells, titled
from judgeharness_integrations.comparison.report import ComparisonReport, CriterionComparison
from judgeharness_integrations.reporting.markdown.escaping import escaped, table

__all__ = ["comparison_markdown"]

_MOST_FLIPS: Final = 50
_LONGEST_TEXT: Final = 600


def comparison_markdown(report: ComparisonReport) -> str:
    """Return a comparison with its answer first; at most 50 flips a criterion."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: ComparisonReport) -> Iterator[str]:
    yield f"## {_text(report.before)} → {_text(report.after)}: {report.answer}"
    yield ""
    yield from _table(
        ("judge and criterion", "answer", "why"),
        ((_text(titled(one)), f"**{one.answer}**", _text(one.reason)) for one in report.criteria),
    )
    changed = list(differences(report))
    if changed:
        yield "### Configurations differ: a change may be the harness's"
        yield ""
        yield from _bullets(changed)
    for one in report.criteria:
        yield from _criterion(one)
    yield "### To know"
    yield ""
    yield from _bullets(caveats(report))


def _criterion(one: CriterionComparison) -> Iterator[str]:
    yield f"### {_text(titled(one))}"
    yield ""
    if one.flips:
        shown = one.flips[:_MOST_FLIPS]
        yield f"{len(one.flips)} flipped" + (f", the first {len(shown)}:" if len(shown) < len(one.flips) else ":")
        yield ""
        yield from _table(FLIP_COLUMNS, (tuple(map(_text, flip_cells(flip))) for flip in shown))
    yield from _bullets(details(one))


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield from table(columns, rows, texts=len(columns))
    yield ""


def _bullets(lines: Iterable[str]) -> Iterator[str]:
    yield from (f"- {_text(line)}" for line in lines)
    yield ""


def _text(text: str) -> str:
    return escaped(text, _LONGEST_TEXT)
