"""Verdict logs that can be appended to while judges answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from judgeharness_integrations._documents import owner_only
from judgeharness_integrations._errors import LogFormatError
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES, to_record
from judgeharness_integrations.verdictlog.row import RowKey, VerdictRow

if TYPE_CHECKING:
    from os import PathLike


class VerdictLog(Protocol):
    """Where rows go. Appending a row whose key is known changes nothing."""

    def append(self, rows: Iterable[VerdictRow]) -> None:
        """Add rows that are not in the log yet."""

    def rows(self, **where: Any) -> Iterator[VerdictRow]:
        """Yield the rows whose fields equal `where`, in the order they came."""
        ...


class MemoryLog:
    """A verdict log in memory."""

    def __init__(self, rows: Iterable[VerdictRow] = ()) -> None:
        """Start with the given rows."""
        self._rows: dict[RowKey, VerdictRow] = {}
        self.append(rows)

    def append(self, rows: Iterable[VerdictRow]) -> None:
        """Add rows that are not in the log yet."""
        for row in rows:
            self._rows.setdefault(row.key, row)

    def rows(self, **where: Any) -> Iterator[VerdictRow]:
        """Yield the rows whose fields equal `where`, in the order they came."""
        for row in self._rows.values():
            if all(getattr(row, name) == value for name, value in where.items()):
                yield row

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)


class JsonlLog:
    """A log that also writes every row to a JSONL file as it comes, so that an interrupted run leaves a valid one."""

    def __init__(self, path: str | PathLike[str]) -> None:
        """Start a new file; an existing one is replaced."""
        self.path = Path(path)
        if self.path.suffix.lower() != ".jsonl":
            raise LogFormatError(f"{path}: a log that is appended to is .jsonl.")
        self._keys: set[RowKey] = set()
        self._file = open(  # noqa: SIM115 - open as long as the log is
            self.path, "w", encoding="utf-8", errors=LONE_SURROGATES, newline="", opener=owner_only
        )

    def append(self, rows: Iterable[VerdictRow]) -> None:
        """Write rows that are not in the log yet and flush them."""
        fresh: dict[RowKey, VerdictRow] = {}
        for row in rows:
            if row.key not in self._keys:
                fresh.setdefault(row.key, row)
        self._keys.update(fresh)
        self._file.writelines(json.dumps(to_record(row), ensure_ascii=False) + "\n" for row in fresh.values())
        self._file.flush()

    def rows(self, **where: Any) -> Iterator[VerdictRow]:
        """Yield the rows of the file whose fields equal `where`."""
        from judgeharness_integrations.verdictlog.files import read_log  # noqa: PLC0415 - only readers pay for it

        yield from MemoryLog(read_log(self.path) if self._keys else ()).rows(**where)

    def __enter__(self) -> Self:
        """Use the log as a context that closes its file."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()
