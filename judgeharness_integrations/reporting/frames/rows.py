"""Rows of a verdict log as a data frame, their attributes as further columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations.reporting.frames.building import Columns, Kind, frame, label_and_score
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["rows_frame"]

_COLUMNS: Final[Columns] = {
    "run": "text",
    "case_id": "text",
    "judge": "text",
    "criterion": "text",
    "perturbation": "text",
    "repetition": "count",
    "swapped": "flag",
    "outcome": "text",
    "verdict": "text",
    "score": "number",
    "gold": "text",
    "gold_score": "number",
    "call_id": "text",
    "model": "text",
    "input_tokens": "count",
    "output_tokens": "count",
    "cached_input_tokens": "count",
    "cache_write_tokens": "count",
    "service_tier": "text",
    "finish_reason": "text",
    "latency_s": "number",
    "attempts": "count",
    "error": "text",
    "asked_at": "text",
    "reasoning": "text",
    "raw": "text",
    "probe_hash": "text",
}


def rows_frame(rows: Iterable[VerdictRow]) -> pd.DataFrame:
    """Return one row a row of the log; an attribute named like a column gets a `_` behind it.

    `verdict` and `gold` are text, `score` and `gold_score` the same as numbers where they are. An attribute's column
    holds numbers if all its values are numbers, else text.

    Raises:
        NotInstalledError: pandas is not installed.

    """
    listed = list(rows)
    return frame(map(_record, listed), {**_COLUMNS, **_attributes(listed)})


def _record(row: VerdictRow) -> dict[str, Any]:
    known: dict[str, Any] = {name: getattr(row, name, None) for name in _COLUMNS}
    known["verdict"], known["score"] = label_and_score(row.verdict)
    known["gold"], known["gold_score"] = label_and_score(row.gold)
    return known | {_column(name): value for name, value in row.attributes.items()}


def _attributes(rows: Sequence[VerdictRow]) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for row in rows:
        for name, value in row.attributes.items():
            column = _column(name)
            if isinstance(value, str):
                kinds[column] = "text"
            else:
                kinds.setdefault(column, "number")
    return kinds


def _column(name: str) -> str:
    """Return the column of an attribute: one of its own."""
    return f"{name}_" if name.rstrip("_") in _COLUMNS else name
