"""Tables with a row an item and rater, or a row an item and a column for each rater -> rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judgeharness_integrations._errors import LogFormatError
from judgeharness_integrations.agreement.panels.columns import MARKS, Columns, Layout, cell_text, layout_of
from judgeharness_integrations.agreement.panels.lists import Lists, listed
from judgeharness_integrations.verdictlog.decoding import Record, decode
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["table_rows"]


def table_rows(
    records: Sequence[Record], *, source: str, columns: Columns, labels: bool = False
) -> tuple[list[VerdictRow], tuple[str, ...]]:
    """Return the rows of a table, and the labels its 0/1 columns or vectors stand for.

    Its other columns become attributes. A label list is JSON, or as Python prints it. A row of marks with a missing one
    is a missing answer.

    Raises:
        LogFormatError: columns cannot be told, or a cell is not what its column holds.

    """
    layout = layout_of(records, columns, source=source)
    kept = [name for name in records[0][1] if name not in {*layout.labels, layout.item, layout.rater}]
    plain: list[Record] = []
    for line, cells in records:
        shared = {name: cells[name] for name in kept if name in cells} | {"case_id": cells[layout.item]}
        for rater, verdict in _answers(cells, layout, f"{source}, line {line}"):
            if verdict is not None:
                plain.append((line, shared | {"judge": rater, "verdict": verdict}))
    if not plain:
        raise LogFormatError(f"{source}: no label is filled in.")
    lists = Lists(cells["verdict"] for _, cells in plain) if not layout.marks else Lists(())
    for _, cells in plain:
        if isinstance(cells["verdict"], list):
            cells["verdict"] = lists.labels_of(cells["verdict"])
    return decode(plain, source=source, labels=labels), layout.labels if layout.marks else lists.labels


def _answers(cells: Mapping[str, Any], layout: Layout, where: str) -> Iterator[tuple[str, object]]:
    if layout.rater is None:
        yield from ((name, _said(cells.get(name))) for name in layout.labels)
        return
    verdict = _marked(cells, layout.labels, where) if layout.marks else _said(cells[layout.labels[0]])
    if verdict is not None and not cell_text(cells[layout.rater]):
        raise LogFormatError(f"{where}: column {layout.rater!r} is empty: say who gave the label.")
    yield cells[layout.rater], verdict


def _said(value: object) -> object:
    """Return a cell, None where it is missing."""
    return None if isinstance(value, str) and not cell_text(value) else listed(value)


def _marked(cells: Mapping[str, Any], columns: Sequence[str], where: str) -> list[str] | None:
    """Return the labels marked with 1; None where a mark is missing."""
    texts = {name: cell_text(cells.get(name)).casefold() for name in columns}
    wrong = next((name for name, text in texts.items() if text and text not in MARKS), None)
    if wrong is not None:
        raise LogFormatError(f"{where}: column {wrong!r} holds {cells.get(wrong)!r:.40}, where 0 or 1 is expected.")
    return None if "" in texts.values() else [name for name, text in texts.items() if MARKS[text]]
