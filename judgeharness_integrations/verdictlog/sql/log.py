"""The verdict log in a database."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from types import TracebackType
from typing import Any, ClassVar, Self

from judgeharness_integrations.verdictlog.row import VerdictRow
from judgeharness_integrations.verdictlog.sql import rows as reading
from judgeharness_integrations.verdictlog.sql import rows as writing
from judgeharness_integrations.verdictlog.sql import runs
from judgeharness_integrations.verdictlog.sql.claims import Claims, is_claimed
from judgeharness_integrations.verdictlog.sql.engines import Synchronous, address_of
from judgeharness_integrations.verdictlog.sql.rows import ProbeIndex, set_aside
from judgeharness_integrations.verdictlog.sql.runs import ModelUsage, RunRecord, usage_of
from judgeharness_integrations.verdictlog.sql.store import Store

_RETRY_S = 60.0
_BUSY_S = 30.0


class SqlLog:
    """A verdict log in SQLite or PostgreSQL, for any number of runs; may be used from any thread.

    `append` returns after the commit. A SQLite log is in WAL mode with `synchronous=normal`: committed rows survive
    the end of the process in any way, kill -9 included. That they also survive a power failure needs
    `synchronous="full"`, which waits for the disk at every commit.
    """

    durable: ClassVar[bool] = True

    def __init__(
        self,
        where: str | PathLike[str],
        *,
        create: bool = True,
        synchronous: Synchronous | None = None,
        retry_s: float = _RETRY_S,
        busy_s: float = _BUSY_S,
    ) -> None:
        """Open a log and bring its tables to the newest version.

        Args:
            where: a path ending in `.sqlite` or `.db`, or a URL: `sqlite:///PATH`, `postgresql+psycopg://...`.
            create: make the log where there is none.
            synchronous: of SQLite, `normal` or `full`; default as the URL says, else `normal`.
            retry_s: how long a lost connection to PostgreSQL is tried again, in seconds.
            busy_s: how long another process's lock on a SQLite file is waited for, in seconds.

        Raises:
            UsageError: `where` is no such path or URL.
            NotInstalledError: the driver of PostgreSQL is missing.
            LogStorageError: the database cannot be opened, or is of a newer version.

        """
        address = address_of(where, synchronous=synchronous)
        self._store = Store(address, create=create, retry_s=retry_s, busy_s=busy_s)
        self._probes = ProbeIndex(self._store)
        self._claims = Claims(self._store)

    @property
    def name(self) -> str:
        """The path, or the URL without user and password."""
        return self._store.address.name

    def append(self, rows: Iterable[VerdictRow]) -> None:
        """Commit rows that are not in the log yet, all or none.

        Raises:
            LogStorageError: they could not be committed: disk full, read-only, damaged, locked, server unreachable.
            RunBusyError: the server lost the claim on a run, and another process took it.

        """
        self.add(rows)

    def add(self, rows: Iterable[VerdictRow]) -> int:
        """Append rows and return how many were not in the log yet."""
        self._claims.check()
        return writing.add_rows(self._store, rows)

    def rows(self, **where: Any) -> Iterator[VerdictRow]:
        """Yield the rows whose fields equal `where`, in the order they came, in constant memory."""
        return reading.rows_where(self._store, where)

    def values(self, columns: Sequence[str]) -> Iterator[Sequence[Any]]:
        """Yield some columns of all rows as they are stored, in the order they came, in constant memory."""
        return reading.stored_values(self._store, columns)

    def of_cases(self, *, run: str, judge: str, case_ids: Sequence[str]) -> dict[str, list[VerdictRow]]:
        """Return case id -> its rows of a run and a judge, in the order they came; cases without rows are left out."""
        return reading.rows_of_cases(self._store, run=run, judge=judge, case_ids=case_ids)

    def known(self, probe_hashes: Sequence[str], *, except_run: str) -> dict[str, list[list[VerdictRow]]]:
        """Return probe hash -> the calls of other runs that asked this and did not fail, as rows, oldest first.

        They are those that were paid for; copies (`reused_from`) stand in only where all of them are missing.
        """
        self._probes.refresh(except_run)
        return reading.known_calls(self._store, probe_hashes, except_run=except_run)

    def set_failed_aside(self, *, run: str, judge: str, case_ids: Collection[str]) -> int:
        """Give the rows of failed calls about some cases to a run of their own, `run/failed/1` or the next one.

        What failed stays on record, and the run can ask it again. Returns how many rows they were.

        Raises:
            RunBusyError: another process took the run meanwhile.

        """
        self._claims.check()
        return set_aside(self._store, run=run, judge=judge, case_ids=case_ids)

    def taken_over(self, probe_hashes: Sequence[str], *, run: str) -> list[VerdictRow]:
        """Return the rows with these hashes that a run took over from others."""
        return reading.taken_rows(self._store, probe_hashes, run=run)

    def has_rows(self, *, run: str | None = None, judge: str | None = None) -> bool:
        """Whether there is any row, of a run, of a judge."""
        return reading.has_rows(self._store, run=run, judge=judge)

    def case_groups(self, *, run: str, judge: str | None = None) -> Iterator[list[VerdictRow]]:
        """Yield the rows of every judge and case of a run, a case at a time, sorted by judge and case id."""
        return reading.case_groups(self._store, run=run, judge=judge)

    def begin(self, record: RunRecord) -> None:
        """Add the record of a new run.

        Raises:
            UsageError: there is another record of that run.

        """
        runs.add_record(self._store, record)

    def record(self, run: str) -> RunRecord | None:
        """Return the record of a run, None if there is none."""
        return runs.read_record(self._store, run)

    def records(self) -> list[RunRecord]:
        """Return the records of all runs, oldest first."""
        return runs.read_records(self._store)

    def note(self, run: str, **changes: Any) -> None:
        """Change fields of a run's record; `updated_at` becomes now unless it is given.

        Raises:
            UsageError: there is no such record, field or state.

        """
        runs.change_record(self._store, run, changes)

    def run_ids(self) -> list[str]:
        """Return the runs that have rows, with or without a record."""
        return runs.run_ids(self._store)

    def usage(self, run: str) -> tuple[ModelUsage, ...]:
        """Return what a run used, by judge and model."""
        return usage_of(self._store, run)

    def claim(self, run: str) -> AbstractContextManager[None]:
        """Be the only log that writes a run within the context; a killed process holds no claim.

        Whoever uses this object shares its claim.

        Raises:
            RunBusyError: another process writes the run, or another `SqlLog` of this one.

        """
        return self._claims.shared(run)

    def is_claimed(self, run: str) -> bool | None:
        """Whether a process writes a run now, seen without claiming it; None where that cannot be known."""
        return is_claimed(self._store, run)

    def rewrite(self, rewriter: str, text: str) -> str | None:
        """Return the kept rewording of a text."""
        return writing.find_rewrite(self._store, rewriter, text)

    def add_rewrite(self, rewriter: str, text: str, rewritten: str) -> str:
        """Keep a rewording and return the one that is kept: the first of a text stays."""
        return writing.add_rewrite(self._store, rewriter, text, rewritten)

    def close(self) -> None:
        """Close every connection."""
        self._store.close()

    def __enter__(self) -> Self:
        """Use the log as a context that closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the log."""
        self.close()
