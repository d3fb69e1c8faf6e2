"""One writer a run. The operating system or the server ends the claim of a process that was killed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Protocol
from uuid import uuid4

from filelock import FileLock, Timeout
from sqlalchemy import select, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from judgeharness_integrations._errors import LogStorageError, RunBusyError
from judgeharness_integrations.verdictlog.encoding import stored
from judgeharness_integrations.verdictlog.sql.rows import insert_new
from judgeharness_integrations.verdictlog.sql.runs import now
from judgeharness_integrations.verdictlog.sql.store import CLAIMS, Store

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
