"""Labels as people keep them -> rows: {annotator: {item: label}}, or one record an item and annotator."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from judgeharness_integrations._errors import LogFormatError
from judgeharness_integrations.verdictlog.decoding import Record, decode
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, is_number, verdict_from_json, verdict_text

__all__ = ["Columns", "annotation_rows", "is_log", "table_rows"]

_ITEMS = ("case_id", "item", "item_id", "instance", "instance_id", "id", "text_id", "text")
_RATERS = ("judge", "rater", "annotator", "annotator_id", "coder", "author", "model", "name")
_LABELS = ("verdict", "labels", "label", "annotation", "annotations", "rating", "score", "answer")
_MARKS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
_MISSING = frozenset({"", "nan", "none", "null"})


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns of a table hold item, rater and labels; what is empty is found by its usual names.

    `labels` is one column of labels or label lists, or several columns of 0 and 1, globs allowed.
    """

    item: str | None = None
    rater: str | None = None
    labels: tuple[str, ...] = ()


def annotation_rows(cells: Iterable[tuple[str, str, object]], *, labels: bool = False) -> Iterator[VerdictRow]:
    """Yield a row for every (rater, item, label); cells without a label are left out.

    Raises:
        LogFormatError: a label is none.

    """
    repeated: Counter[tuple[str, str]] = Counter()
    for rater, item, label in cells:
        try:
            verdict = verdict_from_json(label)
        except ValueError as error:
            raise LogFormatError(f"item {item!r} of {rater!r}: {error}.") from error
        if verdict is None:
            continue
        yield VerdictRow(
            case_id=item,
            judge=rater,
            verdict=verdict_text(verdict) if labels and is_number(verdict) else verdict,
            repetition=repeated[rater, item],
        )
        repeated[rater, item] += 1


def is_log(header: Container[str]) -> bool:
    """Whether columns are those of a verdict log rather than of a table whose raters stand elsewhere."""
    named = "judge" in header or not any(name in header for name in _RATERS)
    return named and "case_id" in header and "verdict" in header


def table_rows(
    records: Sequence[Record], *, source: str, columns: Columns, labels: bool = False
) -> tuple[list[VerdictRow], tuple[str, ...]]:
    """Return the rows of a table with one record an item and rater, and the labels its 0/1 columns name.

    Its other columns become attributes. A label list is JSON, or as Python prints it.

    Raises:
        LogFormatError: columns cannot be told, or a cell is not what its column holds.

    """
    header = list(records[0][1])
    item = _column(columns.item, _ITEMS, header, source=source, option="--item")
    rater = _column(columns.rater, _RATERS, header, source=source, option="--rater")
    named = _label_columns(columns.labels, header, records, taken=(item, rater), source=source)
    first = named[0]
    marks = named if len(named) > 1 or (not columns.labels and _holds_marks(records, first)) else ()
    kept = [name for name in header if name not in {*named, item, rater}]
    plain: list[Record] = []
    for line, cells in records:
        verdict = _marked(cells, marks, f"{source}, line {line}") if marks else _listed(cells[first])
        attributes = {name: cells[name] for name in kept if name in cells}
        plain.append((line, attributes | {"case_id": cells[item], "judge": cells[rater], "verdict": verdict}))
    present = [record for record in plain if record[1]["verdict"] is not None]
    return decode(present, source=source, labels=labels), marks


def _column(named: str | None, usual: Sequence[str], header: Sequence[str], *, source: str, option: str) -> str:
    if named is not None and named not in header:
        raise LogFormatError(f"{source}: there is no column {named!r}: {option} is one of {', '.join(header)}.")
    found = named or next((name for name in usual if name in header), None)
    if found is None:
        raise LogFormatError(f"{source}: name its columns with --item, --rater and --columns: {', '.join(header)}.")
    return found


def _label_columns(
    patterns: Sequence[str], header: Sequence[str], records: Sequence[Record], *, taken: Sequence[str], source: str
) -> tuple[str, ...]:
    for pattern in patterns:
        if not any(name == pattern or fnmatchcase(name, pattern) for name in header):
            raise LogFormatError(f"{source}: no column is named {pattern!r}: --columns is of {', '.join(header)}.")
    if patterns:
        wanted = [name for name in header if any(name == p or fnmatchcase(name, p) for p in patterns)]
        return tuple(name for name in wanted if name in patterns or name not in taken)
    usual = next((name for name in _LABELS if name in header), None)
    if usual is not None:
        return (usual,)
    found = tuple(name for name in header if name not in taken and _holds_marks(records, name))
    if not found:
        raise LogFormatError(f"{source}: name the columns of its labels with --columns: {', '.join(header)}.")
    return found


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _holds_marks(records: Iterable[Record], name: str) -> bool:
    """Whether a column holds 0 and 1 alone."""
    texts = {_text(cells.get(name)).casefold() for _, cells in records}
    return name not in _LABELS and texts <= _MARKS.keys() | _MISSING and not texts <= _MISSING


def _marked(cells: Mapping[str, Any], columns: Sequence[str], where: str) -> list[str] | None:
    """Return the labels marked with 1; None where every mark is missing."""
    texts = {name: _text(cells.get(name)).casefold() for name in columns}
    if all(text in _MISSING for text in texts.values()):
        return None
    wrong = next((name for name, text in texts.items() if text not in _MARKS), None)
    if wrong is not None:
        raise LogFormatError(f"{where}: column {wrong!r} holds {cells.get(wrong)!r:.40}, where 0 or 1 is expected.")
    return [name for name, text in texts.items() if _MARKS[text]]


def _listed(value: object) -> Verdict | list[str] | None:
    """Return a cell as a label, a number or a list of labels; None where it is missing."""
    if isinstance(value, str) and value.strip().casefold() in _MISSING:
        return None
    text = value.strip() if isinstance(value, str) else ""
    if not (text.startswith("[") and text.endswith("]")):
        return value  # type: ignore[return-value]
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, list):
            return [str(label) for label in found]
    return text
