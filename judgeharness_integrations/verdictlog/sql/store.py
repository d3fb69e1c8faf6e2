"""Transactions on one database: attempted again when a connection is lost, every failure told in one sentence."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet

from sqlalchemy import Executable
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_exponential_jitter

from judgeharness_integrations._errors import LogStorageError
from judgeharness_integrations.verdictlog.sql.engines import Address, is_lost, open_engine, told
from judgeharness_integrations.verdictlog.sql.schema import MIGRATIONS, migrate_once, schema_version

__all__ = ["Store"]

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
                yield from found.yield_per(_FETCHED)

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
