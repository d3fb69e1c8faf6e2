"""Connections to a database: where it is, opened as a verdict log needs them, and what it reports, in a sentence."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from sqlalchemy import create_engine
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from judgeharness_integrations._documents import DATABASE_SUFFIXES, owner_only
from judgeharness_integrations._errors import LogStorageError, NotInstalledError, UsageError
from judgeharness_integrations.redacting import REDACTED

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
