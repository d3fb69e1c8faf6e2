"""A row as the columns of a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_to_json

__all__ = ["COLUMNS", "LOG_SCHEMA", "ROW_FIELDS", "to_cells", "to_record"]

LOG_SCHEMA = "judgeharness.log/1"
ROW_FIELDS = tuple(field.name for field in fields(VerdictRow) if field.name != "attributes")
COLUMNS = (*ROW_FIELDS, "schema")
_ALWAYS = frozenset({"case_id", "verdict", "judge", "criterion", "perturbation", "repetition", "outcome"})


def to_record(row: VerdictRow) -> dict[str, Any]:
    """Return a row as one JSON object; fields that hold nothing are left out, attributes stand beside the rest."""
    record: dict[str, Any] = {}
    for name in ROW_FIELDS:
        value = getattr(row, name)
        if name in ("verdict", "gold"):
            value = verdict_to_json(value)
        if name in _ALWAYS or (value is not None and value != "" and value is not False):
            record[name] = value
    record["schema"] = LOG_SCHEMA
    return {**row.attributes, **record}


def _cell(value: Verdict | None) -> str | float:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(sorted(value), ensure_ascii=False) if isinstance(value, frozenset) else value


def to_cells(row: VerdictRow, attributes: Sequence[str]) -> list[str | float]:
    """Return a row as CSV cells: `COLUMNS`, then the named attributes."""
    cells = [_cell(getattr(row, name)) for name in ROW_FIELDS]
    return [*cells, LOG_SCHEMA, *(_cell(row.attributes.get(name)) for name in attributes)]
