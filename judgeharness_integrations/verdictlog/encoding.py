"""A row as the columns of a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_to_json
from judgeharness_integrations.verdictlog.spreadsheet import QUOTE, defused

__all__ = [
    "COLUMNS",
    "LOG_SCHEMA",
    "LONE_SURROGATES",
    "QUOTED",
    "ROW_FIELDS",
    "attribute_columns",
    "to_cells",
    "to_record",
    "unquoted",
]

LOG_SCHEMA = "judgeharness.log/1"
QUOTED = f"{LOG_SCHEMA} quoted"  # a row of CSV in which quotes stand before texts that a spreadsheet would run
# How a file is encoded: half an emoji (a model cut off at its token limit) becomes the JSON escape it came from.
LONE_SURROGATES = "backslashreplace"
ROW_FIELDS = tuple(field.name for field in fields(VerdictRow) if field.name != "attributes")
COLUMNS = (*ROW_FIELDS, "schema")
_ALWAYS = frozenset({"case_id", "verdict", "judge", "criterion", "perturbation", "repetition", "swapped", "outcome"})


def to_record(row: VerdictRow) -> dict[str, Any]:
    """Return a row as one JSON object; fields that hold nothing are left out, attributes stand beside the rest."""
    record: dict[str, Any] = {}
    for name in ROW_FIELDS:
        value = getattr(row, name)
        if name in ("verdict", "gold"):
            value = verdict_to_json(value)
        if name in _ALWAYS or (value is not None and value != ""):
            record[name] = value
    record["schema"] = LOG_SCHEMA
    return record | {name: value for name, value in attribute_columns(row).items() if name not in record}


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
