"""Connections to a database, opened the way a verdict log needs them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import create_engine
from sqlalchemy.engine import Engine
from sqlalchemy.pool import QueuePool

from judgeharness_integrations._errors import LogStorageError, NotInstalledError
from judgeharness_integrations._files import owner_only
from judgeharness_integrations.verdictlog.sql.address import Address

__all__ = ["open_engine"]

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
