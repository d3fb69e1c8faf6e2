"""Connections to a database, and the tables of a verdict log as they are made, version by version."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar
from urllib.parse import quote
from weakref import WeakSet

from sqlalchemy import Executable, column, create_engine, table, text
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import QueuePool
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_exponential_jitter

from judgeharness_integrations._documents import DATABASE_SUFFIXES, owner_only
from judgeharness_integrations._errors import LogStorageError, NotInstalledError, UsageError
from judgeharness_integrations.redacting import REDACTED

from ..encoding import REUSED_FROM, ROW_COLUMNS

Synchronous: TypeAlias = Literal["normal", "full"]
_POSTGRES = {"postgres", "postgresql", "postgresql+psycopg"}
_SQLITE = {"sqlite", "sqlite+pysqlite"}
_WANTED = "a path ending in .sqlite or .db, sqlite:///PATH, or postgresql+psycopg://USER@HOST/DATABASE"
# a URL that lost a slash, also behind the folder it was taken to be in
_SCHEME = re.compile(r"(^|/)(postgres(ql)?|sqlite|mysql|mariadb|mssql|oracle)(\+\w+)?:", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Address:
    """A database. `path` is that of a SQLite file and None for PostgreSQL; `name` is for messages."""

    name: str
    url: URL
    path: Path | None = None
    synchronous: Synchronous = "normal"
    read_only: bool = False

    @property
    def secret(self) -> str | None:
        """The password, which no message may hold."""
        return str(self.url.query.get("password") or self.url.password or "") or None


def address_of(where: str | PathLike[str], *, synchronous: Synchronous | None = None) -> Address:
    """Return the address of a path or URL.

    Args:
        where: `.sqlite` or `.db`, `sqlite:///PATH?synchronous=full&mode=ro`, or a PostgreSQL URL.
        synchronous: wins over the URL's.

    Raises:
        UsageError: it is neither.

    """
    text = fspath(where)
    if "://" not in text:
        if Path(text).suffix.lower() not in DATABASE_SUFFIXES or _SCHEME.search(text):
            raise UsageError(f"{shown(text)}: a verdict log's database is {_WANTED}.")
        return _sqlite(Path(text), {}, synchronous)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise UsageError(f"the database URL cannot be read: it is {_WANTED}.") from None
    if url.drivername in _SQLITE:
        if url.database in (None, "", ":memory:"):
            raise UsageError(f"a verdict log in memory is a MemoryLog; the database of an SqlLog is {_WANTED}.")
        return _sqlite(Path(str(url.database)), dict(url.query), synchronous)
    if url.drivername in _POSTGRES:
        port = f":{url.port}" if url.port else ""
        name = f"postgresql://{url.host or 'localhost'}{port}/{url.database or ''}"
        return Address(name=name, url=url.set(drivername="postgresql+psycopg"))
    raise UsageError(f"databases of the kind {url.drivername!r} are not supported: give {_WANTED}.")


def shown(where: str | PathLike[str]) -> str:
    """Return a path as messages name it; what may be a mistyped URL, and hold a password, is not repeated."""
    text = fspath(where)
    return "what is given as a log" if "@" in text or _SCHEME.search(text) else text


def _sqlite(path: Path, options: dict[str, Any], synchronous: Synchronous | None) -> Address:
    mode, level = options.pop("mode", "rw"), options.pop("synchronous", "normal")
    level = (synchronous or str(level)).lower()
    if options or mode not in ("rw", "ro") or level not in ("normal", "full"):
        raise UsageError(f"{path}: the options of a SQLite URL are synchronous=normal or full, and mode=rw or ro.")
    return Address(
        name=str(path),
        url=URL.create("sqlite", database=str(path)),
        path=path,
        synchronous="full" if level == "full" else "normal",
        read_only=mode == "ro",
    )


_KEPT = "what was committed is kept"
_DAMAGED = (
    "is damaged: move it away and restore a copy, or save what can be read with "
    "`sqlite3 FILE .recover | sqlite3 NEW.sqlite`"
)
_SQLITE_SENTENCES = {  # primary result codes, https://www.sqlite.org/rescode.html
    sqlite3.SQLITE_FULL: f"the disk is full: free some space and start the run again; {_KEPT}",
    sqlite3.SQLITE_READONLY: f"is read-only: make the file and its folder writable; {_KEPT}",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: "is no SQLite database: give another path",
    sqlite3.SQLITE_BUSY: f"stays locked by another process: wait for it, then start the run again; {_KEPT}",
    sqlite3.SQLITE_LOCKED: f"stays locked by another connection: wait for it; {_KEPT}",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: its folder must exist, and both must be readable and writable",
    sqlite3.SQLITE_IOERR: f"the disk cannot be read or written: check it; {_KEPT}",
}
_TOO_LONG = "case id, run, judge and criterion are too long together (about 2,700 bytes): use shorter names"
_POSTGRES_SENTENCES = {  # https://www.postgresql.org/docs/current/errcodes-appendix.html
    "25006": f"is read-only: give a server and a role that may write; {_KEPT}",
    "42501": "the role may not do this: grant it USAGE and CREATE on the schema, and its tables",
    "3F000": "there is no schema to make tables in: make it first, or name another in search_path",
    "22003": "a number of a row is too large for the database",
    "53100": f"the server's disk is full: free some space and start the run again; {_KEPT}",
    "54000": _TOO_LONG,
}
# lost connections, a server that restarts or has none free, and transactions that the server asks to repeat
_PASSING = ("08", "57P", "40001", "40P01", "53300")


def is_lost(error: BaseException) -> bool:
    """Whether the same work may succeed on a new connection to PostgreSQL."""
    if not isinstance(error, DBAPIError) or isinstance(error.orig, sqlite3.Error):
        return False
    state = getattr(error.orig, "sqlstate", None)
    if state is None:  # libpq knows no state where no server answered
        return error.connection_invalidated or type(error.orig).__name__ == "OperationalError"
    return str(state).startswith(_PASSING)


@contextmanager
def told(address: Address) -> Iterator[None]:
    """Turn errors of the database into a LogStorageError of one sentence without the password."""
    try:
        yield
    except OverflowError as error:
        raise LogStorageError(f"{address.name}: a number of a row is too large for the database.") from error
    except SQLAlchemyError as error:
        original = error.orig if isinstance(error, DBAPIError) else error
        known = _known(original)
        if known is None and is_lost(error):
            known = f"the server cannot be reached ({_brief(original, address)}): try the same again later; {_KEPT}"
        raise LogStorageError(f"{address.name}: {known or _brief(original, address)}.") from error


def _known(error: BaseException | None) -> str | None:
    if isinstance(error, sqlite3.Error):
        return _SQLITE_SENTENCES.get(getattr(error, "sqlite_errorcode", -1) & 0xFF)
    return _POSTGRES_SENTENCES.get(str(getattr(error, "sqlstate", None)))


def _brief(error: BaseException | None, address: Address) -> str:
    """Return the last line that says something, as the server's comes after those of the client."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = (lines[0] if lines else type(error).__name__).rstrip(".")
    return text.replace(address.secret, REDACTED) if address.secret else text


_CACHE_KIB = 16 * 1024  # a connection; rows come nearly in the order of their key, so few pages are in use
_CHECKPOINT_PAGES = 4000  # 16 MB: pages that are written again and again are copied to the file once
_POSTGRES_DEFAULTS = {  # a link that was cut without a word is noticed within a minute
    "application_name": "judgeharness",
    "connect_timeout": "10",
    "keepalives_idle": "20",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}


def open_engine(address: Address, *, create: bool, busy_s: float) -> Engine:
    """Return an engine; nothing is connected yet.

    Args:
        address: where the database is.
        create: whether a SQLite file that does not exist is made.
        busy_s: how long a statement waits for another process's lock on a SQLite file.

    Raises:
        LogStorageError: the file is not there, or its folder, or it is a folder.
        NotInstalledError: the driver of PostgreSQL is missing.

    """
    if address.path is not None:
        _check_place(address.path, create=create and not address.read_only)
        connect = _sqlite_connector(address, address.path, create=create, busy_s=busy_s)
        return create_engine(
            address.url, creator=connect, poolclass=QueuePool, pool_use_lifo=True, max_overflow=-1, hide_parameters=True
        )
    try:
        return create_engine(
            address.url,
            connect_args={k: v for k, v in _POSTGRES_DEFAULTS.items() if k not in address.url.query},
            pool_use_lifo=True,
            max_overflow=-1,
            hide_parameters=True,
        )
    except ImportError:
        raise NotInstalledError("psycopg", "postgres") from None


def _check_place(path: Path, *, create: bool) -> None:
    if path.is_dir():
        raise LogStorageError(f"{path} is a folder: give the path of a database file.")
    if not create and not path.exists():
        raise LogStorageError(f"{path}: there is no such verdict log.")
    if create and not path.parent.is_dir():
        raise LogStorageError(f"{path}: its folder does not exist: make it first.")


def _sqlite_connector(address: Address, path: Path, *, create: bool, busy_s: float) -> Callable[[], sqlite3.Connection]:
    mode = "ro" if address.read_only else "rwc" if create else "rw"
    name = f"file:{quote(str(path.absolute()))}?mode="

    def connect() -> sqlite3.Connection:
        file = f"{name}ro&immutable=1" if not create and _sealed(path) else f"{name}{mode}"
        if mode == "rwc":
            _make(path)
        # isolation_level None: a transaction begins where we say so, and none is open between appends
        made = sqlite3.connect(file, uri=True, timeout=busy_s, isolation_level=None, check_same_thread=False)
        made.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        made.execute(f"PRAGMA synchronous = {address.synchronous}")
        made.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        return made

    return connect


def _make(path: Path) -> None:
    """Make a file for its owner alone; SQLite gives what it puts beside it (journal, WAL) the same mode."""
    with suppress(OSError):  # SQLite says what is wrong with the place
        os.close(owner_only(str(path), os.O_WRONLY | os.O_CREAT))


def _sealed(path: Path) -> bool:
    """Whether a file is whole and lies where SQLite cannot put the files that it shares with a writer."""
    return not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()


WRITTEN = (*ROW_COLUMNS, REUSED_FROM)  # a copy of the attribute of that name, for queries
VERDICTS = table("judgeharness_verdicts", column("id"), *(column(name) for name in WRITTEN))
RUNS = table(
    "judgeharness_runs",
    *(column(name) for name in ("run", "state", "created_at", "updated_at", "version", "config", "parts")),
    *(column(name) for name in ("planned_cases", "planned_calls", "prices", "attempts_spent")),
)
CLAIMS = table("judgeharness_claims", *(column(name) for name in ("run", "pid", "since", "token")))
REWRITES = table("judgeharness_rewrites", *(column(name) for name in ("rewriter", "text_hash", "rewritten")))
PROBES = table("judgeharness_probes", column("probe_hash"), column("id"))  # of SQLite alone, as the next
INDEXED = table("judgeharness_indexed", column("up_to"))
Migration: TypeAlias = "Callable[[Connection], None]"
_LOCK = 0x6A75646765  # "judge": one process migrates a PostgreSQL database at a time
_IDENTITY = {"sqlite": "INTEGER PRIMARY KEY", "postgresql": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"}
_SCHEMA = """CREATE TABLE IF NOT EXISTS judgeharness_schema (
    version INTEGER NOT NULL PRIMARY KEY,
    applied_at TEXT NOT NULL
)"""
_VERDICTS = """CREATE TABLE judgeharness_verdicts (
    id {identity},
    case_id TEXT NOT NULL,
    verdict TEXT,
    run TEXT NOT NULL,
    judge TEXT NOT NULL,
    criterion TEXT NOT NULL,
    perturbation TEXT NOT NULL,
    repetition BIGINT NOT NULL,
    swapped BOOLEAN NOT NULL,
    outcome TEXT NOT NULL,
    gold TEXT,
    call_id TEXT,
    reasoning TEXT,
    raw TEXT,
    model TEXT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    latency_s DOUBLE PRECISION,
    attempts BIGINT,
    error TEXT,
    asked_at TEXT,
    probe_hash TEXT,
    attributes TEXT,
    reused_from TEXT
)"""
_KEY = """CREATE UNIQUE INDEX judgeharness_verdicts_key
ON judgeharness_verdicts (run, judge, case_id, criterion, perturbation, repetition)"""
_RUNS = """CREATE TABLE judgeharness_runs (
    run TEXT NOT NULL PRIMARY KEY,
    state TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    version TEXT NOT NULL,
    config TEXT NOT NULL,
    parts TEXT NOT NULL,
    planned_cases BIGINT,
    planned_calls BIGINT,
    prices TEXT,
    attempts_spent BIGINT
)"""
_CLAIMS = """CREATE TABLE judgeharness_claims (
    run TEXT NOT NULL PRIMARY KEY,
    pid BIGINT NOT NULL,
    since TEXT NOT NULL,
    token TEXT NOT NULL
)"""
_REWRITES = """CREATE TABLE judgeharness_rewrites (
    rewriter TEXT NOT NULL,
    text_hash TEXT NOT NULL,
    rewritten TEXT NOT NULL,
    PRIMARY KEY (rewriter, text_hash)
)"""
_BATCHES = """CREATE TABLE judgeharness_batches (
    batch TEXT NOT NULL PRIMARY KEY,
    run TEXT NOT NULL,
    judge TEXT NOT NULL,
    provider TEXT NOT NULL,
    address TEXT NOT NULL,
    model TEXT NOT NULL,
    created_at TEXT NOT NULL,
    requests BIGINT NOT NULL,
    state TEXT NOT NULL,
    provider_id TEXT,
    answered BIGINT NOT NULL,
    input_tokens BIGINT,
    output_tokens BIGINT
)"""
_REQUESTS = (
    """CREATE TABLE judgeharness_requests (
    custom_id TEXT NOT NULL PRIMARY KEY,
    run TEXT NOT NULL,
    judge TEXT NOT NULL,
    slot TEXT NOT NULL,
    batch TEXT NOT NULL,
    answer TEXT
)""",
    "CREATE INDEX judgeharness_requests_run ON judgeharness_requests (run, judge)",
    "CREATE INDEX judgeharness_requests_batch ON judgeharness_requests (batch)",
)
_PROBES = {
    "postgresql": (
        """CREATE INDEX judgeharness_verdicts_probe
ON judgeharness_verdicts (probe_hash) WHERE probe_hash IS NOT NULL""",
    ),
    "sqlite": (  # filled by `probes`, whose docstring says why
        """CREATE TABLE judgeharness_probes (
    probe_hash TEXT NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (probe_hash, id)
) WITHOUT ROWID""",
        """CREATE INDEX judgeharness_verdicts_taken
ON judgeharness_verdicts (probe_hash) WHERE reused_from IS NOT NULL""",
        "CREATE TABLE judgeharness_indexed (up_to INTEGER NOT NULL)",
        "INSERT INTO judgeharness_indexed (up_to) VALUES (0)",
    ),
}


def _rows_and_runs(connection: Connection) -> None:
    """Version 1: rows, runs, and who writes them."""
    identity = _IDENTITY[connection.dialect.name]
    for statement in (_VERDICTS.format(identity=identity), _KEY, _RUNS, _CLAIMS):
        connection.exec_driver_sql(statement)


def _reuse(connection: Connection) -> None:
    """Version 2: answers are found by what was asked; rewordings are kept."""
    for statement in (*_PROBES[connection.dialect.name], _REWRITES):
        connection.exec_driver_sql(statement)


def _billing(connection: Connection) -> None:
    """Version 3: what a call read from the provider's cache and wrote to it, who served it, and how it ended."""
    kinds = {"cached_input_tokens": "BIGINT", "cache_write_tokens": "BIGINT"}
    kinds |= {"service_tier": "TEXT", "finish_reason": "TEXT"}
    for name, kind in kinds.items():
        connection.exec_driver_sql(f"ALTER TABLE judgeharness_verdicts ADD COLUMN {name} {kind}")


def _probabilities(connection: Connection) -> None:
    """Version 4: the probability a judge gave each option."""
    connection.exec_driver_sql("ALTER TABLE judgeharness_verdicts ADD COLUMN probabilities TEXT")


def _batches(connection: Connection) -> None:
    """Version 5: batches at a provider, and what they asked."""
    for statement in (_BATCHES, *_REQUESTS):
        connection.exec_driver_sql(statement)


MIGRATIONS: Sequence[Migration] = (_rows_and_runs, _reuse, _billing, _probabilities, _batches)


def schema_version(connection: Connection, name: str) -> int:
    """Return the version of the tables, 0 where there are none.

    Raises:
        LogStorageError: they are of a newer version of this package.

    """
    if not connection.dialect.has_table(connection, "judgeharness_schema"):
        return 0
    found = connection.execute(text("SELECT max(version) FROM judgeharness_schema")).scalar() or 0
    if found > len(MIGRATIONS):
        raise LogStorageError(
            f"{name}: was written by a newer version of judgeharness (schema {found}, this one knows "
            f"{len(MIGRATIONS)}): upgrade judgeharness-integrations."
        )
    return int(found)


def migrate_once(connection: Connection, name: str) -> bool:
    """Bring the tables one version further inside the caller's transaction; return whether they were old.

    On SQLite the caller's transaction holds the write lock already; on PostgreSQL a lock is taken here.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    connection.exec_driver_sql(_SCHEMA)
    version = schema_version(connection, name)
    if version >= len(MIGRATIONS):
        return False
    MIGRATIONS[version](connection)
    connection.execute(
        text("INSERT INTO judgeharness_schema (version, applied_at) VALUES (:version, :at)"),
        {"version": version + 1, "at": datetime.now(UTC).isoformat(timespec="seconds")},
    )
    return True


_T = TypeVar("_T")
_FETCHED = 500  # rows a streaming read holds at a time


class Store:
    """The connections of one log; its methods may be called from any thread."""

    def __init__(self, address: Address, *, create: bool, retry_s: float, busy_s: float) -> None:
        """Open the database and bring its tables to the newest version."""
        self.address = address
        self._retry_s = retry_s
        self._writing = threading.Lock()  # SQLite has one writer at a time: queueing here is fairer than its polling
        self._lost: list[Callable[[], None]] = []
        self.engine = open_engine(address, create=create, busy_s=busy_s)
        _open_stores.add(self)
        try:
            with told(address):
                self._migrate(create=create)
        except BaseException:
            self.engine.dispose()
            raise

    def _migrate(self, *, create: bool) -> None:
        with self.engine.connect() as connection:
            version = schema_version(connection, self.address.name)
        if version == len(MIGRATIONS):
            return
        if version == 0 and (not create or self.address.read_only):
            raise LogStorageError(f"{self.address.name}: holds no verdict log.")
        if self.address.path is not None:
            self._use_wal()
        while self._transaction(lambda connection: migrate_once(connection, self.address.name)):
            pass

    def _use_wal(self) -> None:
        """Let readers and the writer of a SQLite file not wait for each other; the file remembers it."""
        changing = Retrying(
            stop=stop_after_delay(self._retry_s),
            wait=wait_exponential_jitter(initial=0.02, max=0.5),
            retry=retry_if_exception(_locked),  # two processes that change it at once do not queue
            reraise=True,
        )
        changing(self._set_wal)

    def _set_wal(self) -> None:
        with self.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")

    def forked(self) -> None:
        """Leave the connections to the parent: two processes that talk over one wait for each other's answers."""
        self._writing = threading.Lock()
        self.engine.dispose(close=False)

    def on_lost(self, renew: Callable[[], None]) -> None:
        """Call something before work is attempted again on a new connection."""
        self._lost.append(renew)

    def not_on_lost(self, renew: Callable[[], None]) -> None:
        """Call it no more."""
        self._lost.remove(renew)

    def read(self, work: Callable[[Connection], _T]) -> _T:
        """Return what work on a connection returns; it may be called several times."""
        return self.attempt(lambda: self._reading(work))

    def write(self, work: Callable[[Connection], _T]) -> _T:
        """Return what work in a transaction returns, once that is committed; it may be called several times."""
        return self.attempt(lambda: self._transaction(work))

    def stream(self, statement: Executable) -> Iterator[Sequence[Any]]:
        """Yield the rows of a query without holding more than a few hundred."""
        with told(self.address), self.engine.connect() as connection:
            found = connection.execution_options(stream_results=True, max_row_buffer=_FETCHED).execute(statement)
            with found:
                for some in found.yield_per(_FETCHED).partitions():  # a row at a time takes a fifth longer
                    yield from some

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    def _reading(self, work: Callable[[Connection], _T]) -> _T:
        with self.engine.connect() as connection:
            return work(connection)

    def _transaction(self, work: Callable[[Connection], _T]) -> _T:
        if self.address.path is None:
            with self.engine.begin() as connection:
                return work(connection)
        with self._writing, self.engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            result = work(connection)
            connection.commit()
            return result

    def attempt(self, work: Callable[[], _T]) -> _T:
        """Return what work returns; it is called again while connections are lost, for as long as the log retries."""
        with told(self.address):
            try:
                return work()
            except Exception as error:
                if not is_lost(error) or self._retry_s <= 0:
                    raise
            return self._again(work)

    def _again(self, work: Callable[[], _T]) -> _T:
        """Attempt lost work until `retry_s` have passed."""

        def renewed() -> _T:
            for renew in list(self._lost):
                renew()
            return work()

        attempts = Retrying(
            stop=stop_after_delay(self._retry_s),
            wait=wait_exponential_jitter(initial=0.1, max=5.0, jitter=0.5),
            retry=retry_if_exception(is_lost),
            reraise=True,
        )
        return attempts(renewed)


_open_stores: WeakSet[Store] = WeakSet()


def _renew() -> None:
    for store in list(_open_stores):
        store.forked()


with suppress(AttributeError):  # Windows does not fork
    os.register_at_fork(after_in_child=_renew)


def _locked(error: BaseException) -> bool:
    return isinstance(error, OperationalError) and "locked" in str(error.orig)
