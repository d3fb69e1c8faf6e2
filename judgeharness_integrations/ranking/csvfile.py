"""Tables as CSV files that open in a spreadsheet and run nothing there."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES, defused

__all__ = ["Record", "flat", "write_csv"]

Record: TypeAlias = "Mapping[str, Any]"

_LIMITS = ("ci95", "range")


def flat(record: Record) -> dict[str, Any]:
    """Return a record of JSON as one row: `ci95` and `rank_range` as two columns, `groups` as one for each group.

    Other lists are tables of their own and are left out.
    """
    row: dict[str, Any] = {}
    for name, value in record.items():
        if name.startswith(_LIMITS[0]) or name.endswith(_LIMITS):
            low, high = value or (None, None)
            row |= {f"{name}_low": low, f"{name}_high": high}
        elif isinstance(value, Mapping):
            row |= {f"{name}.{key}": part for key, part in value.items() if not isinstance(part, (list, Mapping))}
        elif not isinstance(value, list):
            row[name] = value
    return row


def write_csv(path: Path, records: Iterable[Record]) -> Path:
    """Write records, a column for each name that any of them has; an empty cell is what was not measured.

    In a text a quote stands before what a spreadsheet would take for a formula.
    """
    rows = list(records)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    path.parent.mkdir(parents=True, exist_ok=True)
    # Excel takes a CSV without the mark for one of another encoding
    with path.open("w", encoding="utf-8-sig", errors=LONE_SURROGATES, newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(map(_cell, columns))
        writer.writerows(_cells(row, columns) for row in rows)
    return path


def _cells(row: Record, columns: Sequence[str]) -> list[Any]:
    return [_cell(row.get(name)) for name in columns]


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return defused(value) if isinstance(value, str) else value
