"""What a killed process left in a database, looked at without repairing it."""

from __future__ import annotations

import shutil
import sqlite3
import time
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import psycopg
from psycopg import sql
from sqlalchemy.engine import make_url

from judgeharness_integrations._errors import LogStorageError
from judgeharness_integrations.verdictlog import SqlLog, VerdictRow

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["KilledDatabase", "KilledPostgres", "KilledSqlite"]

_PATIENCE_S = 30.0
_COUNT = "SELECT count(*) FROM judgeharness_verdicts WHERE run = {}"


class KilledDatabase(Protocol):
    """The database of one test; `url` is what the processes that are killed open."""

    url: str

    def rows(self, run: str) -> list[VerdictRow]:
        """Return the committed rows of a run, in the order they came."""
        ...

    def count(self, run: str) -> int:
        """Return how many rows a run has, which a process may be writing."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """Keep everybody from committing rows."""
        ...

    def empty(self) -> None:
        """Remove every table."""
        ...


class KilledSqlite:
    """A SQLite file. Rows are read from a copy: the next process finds the file and its WAL as the kill left them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = str(path)
        self._copy = path.with_name(f"copy-of-{path.name}")

    def rows(self, run: str) -> list[VerdictRow]:
        if not self.path.exists():
            return []
        for suffix in ("", "-wal"):
            source, copy = (Path(f"{path}{suffix}") for path in (self.path, self._copy))
            copy.unlink(missing_ok=True)
            if source.exists():
                shutil.copyfile(source, copy)
        with closing(sqlite3.connect(self._copy)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return _rows(str(self._copy), run)

    def count(self, run: str) -> int:
        with closing(sqlite3.connect(self.path)) as connection:
            return int(connection.execute(_COUNT.format("?"), [run]).fetchone()[0])

    @contextmanager
    def locked(self) -> Iterator[None]:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")

    def empty(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)


class KilledPostgres:
    """A schema of a PostgreSQL server. A session may outlive its client: rows are read when all of them are gone."""

    def __init__(self, url: str) -> None:
        self._name = f"killed-{uuid4().hex[:12]}"
        self._watching = make_url(url).set(drivername="postgresql")
        named = make_url(url).update_query_dict({"application_name": self._name})
        self.url = named.render_as_string(hide_password=False)

    def rows(self, run: str) -> list[VerdictRow]:
        query = "SELECT state, wait_event_type, wait_event, query FROM pg_stat_activity WHERE application_name = %s"
        end = time.monotonic() + _PATIENCE_S
        with closing(self._connect()) as connection:
            connection.autocommit = True  # within a transaction the server shows the same sessions again
            while left := connection.execute(query, [self._name]).fetchall():
                assert time.monotonic() < end, f"sessions of killed clients stay: {left}"
                time.sleep(0.002)
        return _rows(self._watching.render_as_string(hide_password=False), run)

    def count(self, run: str) -> int:
        with closing(self._connect()) as connection:
            found = connection.execute(_COUNT.format("%s"), [run]).fetchone()
            return 0 if found is None else int(found[0])

    @contextmanager
    def locked(self) -> Iterator[None]:
        with closing(self._connect()) as connection:
            connection.execute("LOCK TABLE judgeharness_verdicts IN SHARE ROW EXCLUSIVE MODE")
            yield
            connection.rollback()

    def empty(self) -> None:
        with closing(self._connect()) as connection:
            found = connection.execute("SELECT current_schema()").fetchone()
            assert found is not None
            schema = sql.Identifier(found[0])
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(schema))
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
            connection.commit()

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self._watching.render_as_string(hide_password=False))


def _rows(where: str, run: str) -> list[VerdictRow]:
    try:
        log = SqlLog(where, create=False)
    except LogStorageError as error:
        if "holds no verdict log" not in str(error):
            raise
        return []  # it was killed before it had made the tables
    with log:
        return list(log.rows(run=run))
