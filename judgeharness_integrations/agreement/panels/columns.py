"""Which columns of a table hold item, rater and labels: as named, or by their usual names."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from judgeharness_integrations._errors import LogFormatError
from judgeharness_integrations.verdictlog.decoding import Record

__all__ = ["MARKS", "Columns", "Layout", "cell_text", "is_log", "layout_of"]

_ITEMS = ("case_id", "item", "item_id", "instance", "instance_id", "id", "text_id", "question_id", "document", "text")
_RATERS = ("judge", "rater", "annotator", "annotator_id", "worker", "worker_id", "coder", "labeler", "author", "model")
_LABELS = ("verdict", "label", "labels", "annotation", "annotations", "rating", "score", "answer")
MARKS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
_MISSING = frozenset({"", "nan"})  # what is empty, and what pandas writes for it


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns of a table hold item, rater and labels; what is empty is found by its usual names.

    `labels` is one column of labels or label lists, several columns of 0 and 1, or, in a table without a rater column,
    a column of labels for each rater; globs allowed.
    """

    item: str | None = None
    rater: str | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where a table holds what: without a `rater` column, each of `labels` is a rater; `marks`: they hold 0 and 1."""

    item: str
    rater: str | None
    labels: tuple[str, ...]
    marks: bool


def is_log(header: Container[str]) -> bool:
    """Whether columns are those of a verdict log rather than of a table whose raters stand elsewhere."""
    named = "judge" in header or not any(name in header for name in _RATERS)
    return named and "case_id" in header and "verdict" in header


def cell_text(value: object) -> str:
    """Return a cell as text, empty where it is missing."""
    text = "" if value is None else str(value).strip()
    return "" if text.casefold() in _MISSING else text


def layout_of(records: Sequence[Record], columns: Columns, *, source: str) -> Layout:
    """Return where a table holds item, rater and labels.

    Raises:
        LogFormatError: a column is named that it has not, or one cannot be found.

    """
    header = list(records[0][1])
    item = columns.item or _usual(_ITEMS, header)
    rater = columns.rater or _usual(_RATERS, header)
    for option, name in (("--item", item), ("--rater", rater)):
        if name is not None and name not in header:
            raise LogFormatError(f"{source}: there is no column {name!r}: {option} is one of {', '.join(header)}.")
    if item is None:
        raise LogFormatError(f"{source}: which column names the item? Name it with --item: {', '.join(header)}.")
    named = _named(columns.labels, header, taken=(item, columns.rater), source=source)
    no_marks = not any(_are_marks(records, (name,)) for name in named)
    if len(named) > 1 and columns.rater is None and (rater is None or no_marks):
        return Layout(item=item, rater=None, labels=named, marks=False)
    if rater is None:
        raise LogFormatError(
            f"{source}: which column names the annotator? Name it with --rater, or, where each annotator has a column, "
            f"those columns with --columns: {', '.join(header)}."
        )
    if named:
        return Layout(item=item, rater=rater, labels=named, marks=len(named) > 1)
    if (usual := _usual(_LABELS, header)) is not None:
        return Layout(item=item, rater=rater, labels=(usual,), marks=False)
    marks = tuple(name for name in header if name not in (item, rater) and _are_marks(records, (name,)))
    if not marks:
        raise LogFormatError(f"{source}: which columns hold the labels? Name them with --columns: {', '.join(header)}.")
    ones = [name for name in marks if all(MARKS.get(cell_text(cells.get(name)).casefold()) for _, cells in records)]
    if ones:
        raise LogFormatError(f"{source}: is {ones[0]!r}, 1 in every row, a label? Name those that are with --columns.")
    return Layout(item=item, rater=rater, labels=marks, marks=True)


def _usual(names: Sequence[str], header: Iterable[str]) -> str | None:
    """Return the column with a usual name, however it is spelled: `Item ID`, `item-id`."""
    spelled = {name.strip().casefold().replace(" ", "_").replace("-", "_"): name for name in reversed(list(header))}
    return next((spelled[name] for name in names if name in spelled), None)


def _named(
    patterns: Sequence[str], header: Sequence[str], *, taken: Container[str | None], source: str
) -> tuple[str, ...]:
    for pattern in patterns:
        if not any(name == pattern or fnmatchcase(name, pattern) for name in header):
            raise LogFormatError(f"{source}: no column is named {pattern!r}: --columns is of {', '.join(header)}.")
    matched = (name for name in header if any(name == p or fnmatchcase(name, p) for p in patterns))
    return tuple(name for name in matched if name in patterns or name not in taken)


def _are_marks(records: Sequence[Record], names: Iterable[str]) -> bool:
    """Whether columns hold 0 and 1 alone, and not nothing."""
    texts = [{cell_text(cells.get(name)).casefold() for _, cells in records} - {""} for name in names]
    return all(found and found <= MARKS.keys() for found in texts)
