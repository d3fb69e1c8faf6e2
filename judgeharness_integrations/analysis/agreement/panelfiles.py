"""Files with the labels of people and judges -> a panel."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import LogFormatError
from judgeharness_integrations.analysis.agreement.panel import (
    DEFAULT_RULE,
    Columns,
    Panel,
    annotation_rows,
    is_log,
    table_rows,
)
from judgeharness_integrations.verdictlog.decoding import Record, decode
from judgeharness_integrations.verdictlog.files import open_text, read_records
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from os import PathLike

    from judgeharness_integrations.analysis.aggregation.rules import RuleLike

_WHOLE = re.compile(r"[+-]?[0-9]+\.0+")
_COMMA_NUMBER = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)?")


def read_panel(
    *paths: str | PathLike[str],
    criterion: str | None = None,
    labels: bool = False,
    cluster: str | None = None,
    columns: Columns | None = None,
    rule: RuleLike = DEFAULT_RULE,
) -> Panel:
    """Read a panel from one or more files.

    Args:
        paths: verdict logs (`.csv`, `.jsonl`) whose `judge` column names annotators and judges; tables of the same
            endings with one row an item and annotator, or a column for each annotator; `.json` with {annotator: {item:
            label}}, or {item: label} of one who is named as the file. All of them also as `.gz`.
        criterion: which one of a verdict log that has several.
        labels: read numbers as labels.
        cluster: the column that says which items belong together.
        columns: where a table holds item, rater and labels.
        rule: folds several answers of one rater about one item.

    Raises:
        LogFormatError: a file cannot be read; file and line are named.
        UsageError: labels and numbers are mixed, or there are several criteria.

    """
    rows: list[VerdictRow] = []
    marks: list[str] = []
    for path in map(Path, paths):
        found, named = _rows(path, columns or Columns(), labels=labels)
        rows += found
        marks += named
    if labels:
        rows = [_whole(row) for row in rows]
    else:
        _refuse_decimal_commas(rows)
    return Panel.from_rows(rows, criterion=criterion, cluster=cluster, rule=rule, labels=marks)


def _whole(row: VerdictRow) -> VerdictRow:
    """Return the row with `1` for `1.0`, which is what pandas makes of it where another cell is missing."""
    text = row.verdict
    return replace(row, verdict=text.partition(".")[0]) if isinstance(text, str) and _WHOLE.fullmatch(text) else row


def _refuse_decimal_commas(rows: Sequence[VerdictRow]) -> None:
    """Refuse numbers that would be compared as texts."""
    texts = {row.verdict for row in rows if isinstance(row.verdict, str)}
    commas = sorted(text for text in texts if "," in text)
    if commas and all(map(_COMMA_NUMBER.fullmatch, texts)):
        raise LogFormatError(
            f"labels such as {commas[0]!r} are numbers with a decimal comma: write a point, or read them as labels "
            "with --labels."
        )


def _rows(path: Path, columns: Columns, *, labels: bool) -> tuple[list[VerdictRow], Sequence[str]]:
    if ".json" in (suffix.lower() for suffix in path.suffixes):
        return _json_rows(path, columns, labels=labels)
    return _record_rows(read_records(path), path, columns, labels=labels)


def _record_rows(
    records: Sequence[Record], path: Path, columns: Columns, *, labels: bool
) -> tuple[list[VerdictRow], Sequence[str]]:
    if not records:
        raise LogFormatError(f"{path}: holds no rows.")
    if columns == Columns() and is_log(records[0][1]):
        return decode(records, source=str(path), labels=labels), ()
    return table_rows(records, source=str(path), columns=columns, labels=labels)


@dataclass(frozen=True)
class _Object:
    """The members of a JSON object, of which a key may stand twice."""

    members: list[tuple[str, Any]]


def _json_rows(path: Path, columns: Columns, *, labels: bool) -> tuple[list[VerdictRow], Sequence[str]]:
    with open_text(path) as text:
        try:
            data = json.load(text, object_pairs_hook=_Object)
        except (ValueError, RecursionError) as error:
            raise LogFormatError(f"{path}: is not JSON ({error}).") from error
    if isinstance(data, _Object):
        rows, positions = annotation_rows(_cells(data, path), labels=labels)
        return rows, (*positions, *_named_marks(data))
    if not isinstance(data, list) or not all(isinstance(record, _Object) for record in data):
        raise LogFormatError(f"{path}: is neither {{annotator: {{item: label}}}} nor a list of rows.")
    records = [(number, dict(record.members)) for number, record in enumerate(data, start=1)]
    return _record_rows(records, path, columns, labels=labels)


def _cells(data: _Object, path: Path) -> Iterator[tuple[str, str, object]]:
    members = data.members
    raters = [isinstance(value, _Object) for _, value in members]
    if any(raters) and not all(raters):
        name = next(name for name, value in members if not isinstance(value, _Object))
        raise LogFormatError(f"{path}: {name!r} holds no {{item: label}}, as the other annotators do.")
    if raters and all(raters):
        yield from ((rater, item, _label(label, path)) for rater, said in members for item, label in said.members)
    else:
        yield from ((path.name.split(".")[0], item, label) for item, label in members)


def _label(value: object, path: Path) -> object:
    """Return a label; of {label: 0 or 1} the labels that hold."""
    if not isinstance(value, _Object):
        return value
    wrong = [name for name, mark in value.members if mark not in (0, 1)]
    if wrong:
        raise LogFormatError(f"{path}: label {wrong[0]!r} is neither 0 nor 1: write a label or a list of labels.")
    return [name for name, mark in value.members if mark]


def _named_marks(data: _Object) -> set[str]:
    """Return the labels of every {label: 0 or 1}, also those nobody marked."""
    said = (value for _, one in data.members if isinstance(one, _Object) for _, value in one.members)
    return {name for value in said if isinstance(value, _Object) for name, _ in value.members}
