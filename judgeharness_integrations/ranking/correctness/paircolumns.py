"""Columns of a log that say something about a pair: the same value on every row of it."""

from __future__ import annotations

from collections.abc import Mapping

from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["PairColumns"]

Value = str | float


class PairColumns:
    """Collects the attributes of rows, pair by pair."""

    def __init__(self, pairs: Mapping[str, int]) -> None:
        """Start without a column; `pairs`: case id -> place."""
        self._pairs = pairs
        self._found: dict[str, dict[str, Value]] = {}
        self._divided: dict[str, None] = {}

    def take(self, row: VerdictRow) -> None:
        """Take in the attributes of a row."""
        for name, value in row.attributes.items():
            found = self._found.setdefault(name, {}).setdefault(row.case_id, value)
            if found != value:
                self._divided[name] = None

    @property
    def agreed(self) -> dict[str, tuple[Value | None, ...]]:
        """Column -> value of each pair; None where no row of the pair has one."""
        return {
            name: tuple(values.get(case_id) for case_id in self._pairs)
            for name, values in self._found.items()
            if name not in self._divided
        }

    @property
    def divided(self) -> tuple[str, ...]:
        """Columns that differ between rows of one pair: they say something about the answer."""
        return tuple(self._divided)
