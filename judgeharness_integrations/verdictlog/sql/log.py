"""The verdict log in a database, with one writer a run."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self
from uuid import uuid4

from filelock import FileLock, Timeout
from sqlalchemy import select, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from judgeharness_integrations._errors import LogStorageError, RunBusyError, UsageError

from ..encoding import CALIBRATION_RUN, calibration_run, counted, stored
from ..row import ModelUsage, VerdictRow
from . import rows as reading
from . import rows as writing
from . import runs
from .batches import BatchJournal, slot_of
from .rows import ProbeIndex, insert_new, set_aside
from .runs import RunRecord, now, usage_of
from .store import CLAIMS, Store, Synchronous, address_of

# a key of 64 bits stands there in two halves, https://www.postgresql.org/docs/current/view-pg-locks.html
_HELD = text(
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND ((CAST(classid AS bigint) << 32) | CAST(objid AS bigint)) = :key"
)


def lock_file(database: Path, run: str) -> Path:
    """Return the file whose lock is the claim on a run of a SQLite database."""
    name = blake2b(run.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return Path(f"{database}.{name}.lock")


def lock_key(schema: str, run: str) -> int:
    """Return the key of the advisory lock that is the claim on a run in a schema of PostgreSQL."""
    digest = blake2b(f"judgeharness\0{schema}\0{run}".encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big", signed=True)


def is_claimed(store: Store, run: str) -> bool | None:
    """Whether a process writes the run; None where that cannot be known, as of a log that is read-only here."""
    path = store.address.path
    try:
        if path is None:
            return _is_held(store, run)
        file = lock_file(path, run)
        if store.address.read_only and file.exists():
            return None
        # claims are taken while the database's write lock is held: none is tried for while the file is locked here
        return file.exists() and store.write(lambda _: _is_locked(file))
    except (LogStorageError, OSError):
        return None


def _is_locked(file: Path) -> bool:
    if not file.exists():
        return False
    try:
        FileLock(file, timeout=0).acquire().lock.release()
    except Timeout:
        return True
    return False


def _is_held(store: Store, run: str) -> bool:
    def look(schema: str) -> int:
        return store.read(lambda connection: connection.execute(_HELD, {"key": lock_key(schema, run)}).scalar() or 0)

    return look(str(store.read(lambda connection: connection.execute(text("SELECT current_schema()")).scalar()))) > 0


_CHECK_S = 5.0  # a claim is not checked again before


class _Lock(Protocol):
    def take(self) -> bool: ...
    def give_back(self) -> None: ...


@dataclass
class _Claim:
    """A claim of this process, once it was taken, and how many share it."""

    taking: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    held: ExitStack | None = None
    renew: Callable[[], object] = bool  # nothing, unless it is held
    checked: float = 0.0  # when, in seconds of a monotonic clock


class Claims:
    """The claims on runs of one log, each shared by everybody who writes the run through it."""

    def __init__(self, store: Store) -> None:
        """Claim runs of this store."""
        self._store = store
        self._lock = threading.Lock()
        self._claims: dict[str, _Claim] = {}

    @contextmanager
    def shared(self, run: str) -> Iterator[None]:
        """Hold the claim on a run: taken by the first, given back by the last.

        Raises:
            RunBusyError: another process holds it, or another log of this one.

        """
        with self._lock:
            claim = self._claims.setdefault(run, _Claim())
            claim.users += 1
        try:
            with claim.taking:
                if claim.held is None:
                    with ExitStack() as stack:
                        claim.renew = stack.enter_context(_claimed(self._store, run))
                        claim.held, claim.checked = stack.pop_all(), monotonic()
            yield
        finally:
            self._leave(claim)

    def check(self) -> None:
        """Make sure now and then that the claims are still held: a server may end the session that holds one.

        Raises:
            RunBusyError: another process writes the run by now.

        """
        if self._store.address.path is not None:  # only a process ends the lock on a file
            return
        with self._lock:
            old = [claim for claim in self._claims.values() if monotonic() - claim.checked > _CHECK_S]
        for claim in old:
            with claim.taking:
                self._store.attempt(claim.renew)
                claim.checked = monotonic()

    def _leave(self, claim: _Claim) -> None:
        with claim.taking:  # whoever comes meanwhile shares the claim, or finds that none is held
            with self._lock:
                claim.users -= 1
                if claim.users:
                    return
            held, claim.held, claim.renew = claim.held, None, bool
            if held is not None:
                held.close()
            with self._lock:
                self._claims = {name: one for name, one in self._claims.items() if one.users or one is not claim}


@contextmanager
def _claimed(store: Store, run: str) -> Iterator[Callable[[], None]]:
    """Be the only one that writes a run, and yield what makes sure of it.

    Raises:
        RunBusyError: another process does.

    """
    lock: _Lock = (
        _FileLock(store, store.address.path, run) if store.address.path is not None else _ServerLock(store, run)
    )
    token = uuid4().hex
    if not store.attempt(lock.take):
        raise store.attempt(lambda: _busy(store, run))

    def renew() -> None:
        # a session of ours that the server has not missed yet still keeps others out
        if not lock.take() and (_holder(store, run) or ("", "", ""))[2] != token:
            raise _busy(store, run)

    try:
        _sign(store, run, token)
        store.on_lost(renew)
        try:
            yield renew
        finally:
            store.not_on_lost(renew)
    finally:
        lock.give_back()


class _FileLock:
    """A file beside a SQLite database; the lock on it ends with the process.

    It is locked and removed while the database's write lock is held: nobody locks a file that is being removed.
    """

    def __init__(self, store: Store, database: Path, run: str) -> None:
        self._store = store
        self._lock = FileLock(lock_file(database, run), timeout=0, thread_local=False)

    def take(self) -> bool:
        return self._store.write(lambda _: self._acquire())

    def give_back(self) -> None:
        try:
            with suppress(LogStorageError):  # the file then stays, which harms nobody
                self._store.write(lambda _: self._remove())
        finally:
            self._lock.release(force=True)

    def _acquire(self) -> bool:
        try:
            self._lock.acquire()
        except Timeout:
            return False
        except OSError as error:
            raise LogStorageError(
                f"{self._lock.lock_file}: cannot be locked ({error.strerror or error}): make its folder writable."
            ) from error
        return True

    def _remove(self) -> None:
        self._lock.release(force=True)
        with suppress(OSError):
            Path(self._lock.lock_file).unlink(missing_ok=True)


class _ServerLock:
    """An advisory lock of PostgreSQL, which ends with the connection that took it."""

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self._run = run
        self._using = threading.RLock()  # a claim is checked by whoever writes
        self._connection: Connection | None = None

    def take(self) -> bool:
        """Take the lock; where it was taken before, only if its connection was lost since."""
        with self._using:
            return self._holds() or self._take()

    def _take(self) -> bool:
        connection = self._store.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            key = lock_key(str(connection.execute(text("SELECT current_schema()")).scalar()), self._run)
            taken = bool(connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": key}).scalar())
        except BaseException:
            connection.close()
            raise
        if taken:
            self._connection = connection
        else:
            connection.close()
        return taken

    def _holds(self) -> bool:
        if self._connection is None:
            return False
        try:
            self._connection.exec_driver_sql("SELECT 1")
        except SQLAlchemyError:
            self.give_back()
            return False
        return True

    def give_back(self) -> None:
        with self._using:
            connection, self._connection = self._connection, None
        if connection is None:
            return
        with suppress(SQLAlchemyError):  # closing alone ends the lock too, but the server takes a moment to notice
            connection.exec_driver_sql("SELECT pg_advisory_unlock_all()")
        connection.invalidate()  # closes it instead of putting it back into the pool
        connection.close()


def _sign(store: Store, run: str, token: str) -> None:
    """Write down who holds the claim, for the message of whoever does not get it."""
    values = {"pid": os.getpid(), "since": now(), "token": token}

    def work(connection: Connection) -> None:
        connection.execute(CLAIMS.delete().where(CLAIMS.c.run == stored(run)))
        connection.execute(insert_new(connection, CLAIMS), {"run": stored(run), **values})

    store.write(work)


def _holder(store: Store, run: str) -> tuple[str, str, str] | None:
    query = select(CLAIMS.c.pid, CLAIMS.c.since, CLAIMS.c.token).where(CLAIMS.c.run == stored(run))
    with store.engine.connect() as connection:  # not `read`: this is called while that is attempted again
        found = connection.execute(query).first()
    return None if found is None else (str(found[0]), str(found[1]), str(found[2]))


def _busy(store: Store, run: str) -> RunBusyError:
    holder = _holder(store, run)
    who = "" if holder is None else f" (pid {holder[0]}, since {holder[1]})"
    return RunBusyError(
        f"run {run!r} of {store.address.name} is being written by another process{who}: "
        "wait for it, or start a new run."
    )


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
    def store(self) -> Store:
        """The connections, for further tables of a log."""
        return self._store

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

    def refuse_open_batches(self, run: str, *, instead: str) -> None:
        """Raise a UsageError where batches asked for a run what no row has yet: calls would pay for it again.

        Args:
            run: its name; its labelled cases are included.
            instead: what to do, as the sentence goes on.

        """
        if held := self.open_batches(run):
            raise UsageError(
                f"run {run} has {held}, which calls would pay for once more: {instead}; nothing was asked."
            )

    def open_batches(self, run: str) -> str:
        """Return what batches asked for a run and no row has yet, `1 batch open with 24 requests to answer`, or ""."""
        journal, parts = BatchJournal(self._store), list[str]()
        names = run, calibration_run(run)
        is_open = [one for name in names for one in journal.records(run=name) if one.is_open]
        if is_open:
            left = counted(sum(one.requests - one.answered for one in is_open), "request")
            parts.append(f"{counted(len(is_open), 'batch', 'batches')} open with {left} to answer")
        if unread := sum(self._unread(journal, name) for name in names):
            parts.append(f"{counted(unread, 'answer')} of batches that no row has yet")
        return " and ".join(parts)

    def _unread(self, journal: BatchJournal, run: str) -> int:
        """Return how many attempts at samples have answers of batches, and no row."""
        slots = {one.slot for one in journal.asked(run=run) if one.answered}
        for row in self.rows(run=run) if slots else ():
            place = row.case_id, row.perturbation, row.repetition
            slots -= {slot_of(run, row.judge, place, one) for one in range(1, (row.attempts or 1) + 1)}
        return len(slots)

    def batched_runs(self) -> list[str]:
        """Return the runs that have batches, with those of their labelled cases."""
        found = (record.run.removesuffix(CALIBRATION_RUN) for record in BatchJournal(self._store).records())
        return list(dict.fromkeys(found))

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
