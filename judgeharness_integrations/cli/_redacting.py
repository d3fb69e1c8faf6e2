"""A log into which no secret of a configuration goes with an error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.config import without_secrets

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog import SqlLog, VerdictRow

__all__ = ["RedactingLog"]


class RedactingLog:
    """A log that takes the secrets of settings out of what errors quote."""

    def __init__(self, log: SqlLog, settings: object) -> None:
        """Write to a log without the secrets of these settings."""
        self._log, self._settings = log, settings

    def append(self, rows: Iterable[VerdictRow]) -> None:
        """Commit rows that are not in the log yet, without secrets."""
        self._log.append(
            row if row.error is None else replace(row, error=without_secrets(row.error, self._settings)) for row in rows
        )

    def rows(self, **where: Any) -> Iterator[VerdictRow]:
        """Yield the rows a query asks for."""
        return self._log.rows(**where)

    def __getattr__(self, name: str) -> Any:
        """Return whatever else the log can do."""
        return getattr(self._log, name)
