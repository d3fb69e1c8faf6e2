"""A row as the columns of a file, and texts as spreadsheets and stores can take them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final

from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_to_json

__all__ = [
    "COLUMNS",
    "LOG_SCHEMA",
    "LONE_SURROGATES",
    "QUOTE",
    "QUOTED",
    "ROW_FIELDS",
    "attribute_columns",
    "defused",
    "field_record",
    "restored",
    "stored",
    "to_cells",
    "to_record",
    "unquoted",
]


QUOTE: Final = "'"  # what stands before a text that a spreadsheet would run
_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")  # noqa: RUF001 - full-width forms count, too
_NUMBER = re.compile(r"[+-]\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)  # runs nowhere, and is to stay a number


def defused(text: str) -> str:
    """Return a text with a quote before it where a spreadsheet would take it for a formula.

    One that begins with a quote is given another, so that taking one off gives back every text.
    """
    if text[:1] not in _FORMULA and text[:1] != QUOTE:
        return text
    return text if _NUMBER.fullmatch(text) else QUOTE + text


# U+001A SUBSTITUTE is made for characters that cannot be stored; texts without any of these are kept as they are
_UNSAFE = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")


def stored(text: str) -> str:
    """Return the text with NUL, U+001A and lone surrogates as U+001A and four hexadecimal digits."""
    if text.isascii() and "\x00" not in text and "\x1a" not in text:
        return text
    return _UNSAFE.sub(lambda match: f"\x1a{ord(match[0]):04x}", text)


def restored(text: str) -> str:
    """Return the text that `stored` was given."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "\x1a" in text else text


LOG_SCHEMA = "judgeharness.log/1"
QUOTED = f"{LOG_SCHEMA} quoted"  # a row of CSV in which quotes stand before texts that a spreadsheet would run
# How a file is encoded: half an emoji (a model cut off at its token limit) becomes the JSON escape it came from.
LONE_SURROGATES = "backslashreplace"
ROW_FIELDS = tuple(field.name for field in fields(VerdictRow) if field.name != "attributes")
COLUMNS = (*ROW_FIELDS, "schema")
_VERDICTS = ("verdict", "gold")
_values = attrgetter(*ROW_FIELDS)
_ALWAYS = frozenset({"case_id", "verdict", "judge", "criterion", "perturbation", "repetition", "swapped", "outcome"})


def to_record(row: VerdictRow) -> dict[str, Any]:
    """Return a row as one JSON object; fields that hold nothing are left out, attributes stand beside the rest."""
    record = field_record(row)
    if not row.attributes:
        return record
    return record | {name: value for name, value in attribute_columns(row).items() if name not in record}


def field_record(row: VerdictRow) -> dict[str, Any]:
    """Return a row as `to_record` does, without its attributes."""
    record = {
        name: value
        for name, value in zip(ROW_FIELDS, _values(row), strict=True)
        if (value is not None and value != "") or name in _ALWAYS
    }
    for name in _VERDICTS:
        if isinstance(record.get(name), frozenset):
            record[name] = verdict_to_json(record[name])
    record["schema"] = LOG_SCHEMA
    return record


def attribute_columns(row: VerdictRow) -> dict[str, str | float]:
    """Return column -> attribute; one named like a field of the row (`model` of a case) gets a `_` behind it."""
    return {f"{name}_" if name in COLUMNS else name: value for name, value in row.attributes.items()}


def _cell(value: Verdict | None) -> str | float:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(sorted(value), ensure_ascii=False) if isinstance(value, frozenset) else value


def to_cells(row: VerdictRow, attributes: Sequence[str], *, quoted: bool = False) -> list[str | float]:
    """Return a row as CSV cells: `COLUMNS`, then the named attribute columns.

    Where a spreadsheet would run a cell, or `quoted` is given, quotes stand before texts and the row says so in its
    schema; other rows hold every text as it is.
    """
    given = attribute_columns(row)
    cells = [*(_cell(getattr(row, name)) for name in ROW_FIELDS), *(_cell(given.get(name)) for name in attributes)]
    safe = [defused(cell) if isinstance(cell, str) else cell for cell in cells]
    runs = any(
        cell is not own and own[:1] != QUOTE for cell, own in zip(safe, cells, strict=True) if isinstance(own, str)
    )
    place, cells = len(ROW_FIELDS), safe if runs or quoted else cells
    return [*cells[:place], QUOTED if runs or quoted else LOG_SCHEMA, *cells[place:]]


def unquoted(columns: dict[str, str]) -> dict[str, str]:
    """Return the columns of a row of CSV with its texts as they were."""
    if columns.get("schema") != QUOTED:
        return columns
    texts = {name.removeprefix(QUOTE): text.removeprefix(QUOTE) for name, text in columns.items()}
    return {**texts, "schema": LOG_SCHEMA}
