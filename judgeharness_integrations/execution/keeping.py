"""Rows on their way into the log: a call's slot is free again once its rows are there."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol
from weakref import WeakKeyDictionary, ref

if TYPE_CHECKING:
    from judgeharness_integrations.execution.answering import Rows
    from judgeharness_integrations.verdictlog.log import VerdictLog

__all__ = ["Keeper", "keeper_for"]

_IDLE_S = 1.0  # after which the thread ends; the next row starts another


class Keeper(Protocol):
    """Takes the rows of one call and returns when the log has them."""

    async def keep(self, rows: Rows) -> None:
        """Add the rows to the log."""

    async def settled(self) -> None:
        """Wait until everything handed over is in the log, also rows whose worker was cancelled meanwhile."""


class _AtOnce:
    """For logs whose `append` does not wait for anything: in memory, or a line in a file."""

    def __init__(self, log: VerdictLog) -> None:
        self._log = log

    async def keep(self, rows: Rows) -> None:
        self._log.append(rows)

    async def settled(self) -> None:
        """Nothing is ever on its way."""


class _Commit(NamedTuple):
    """The rows of one call on their way, and who waits for them."""

    rows: Rows
    future: asyncio.Future[None]
    log: VerdictLog


class _GroupCommit:
    """Appends in a thread of its own, each time everything that came while the last transaction was committed."""

    def __init__(self, log: VerdictLog) -> None:
        self._log = ref(log)  # which is kept as long as somebody writes to it
        self._lock = threading.Lock()
        self._more = threading.Condition(self._lock)
        self._waiting: list[_Commit] = []
        self._thread: threading.Thread | None = None
        self._unsettled: set[asyncio.Future[None]] = set()

    async def keep(self, rows: Rows) -> None:
        if (log := self._log()) is None:
            raise RuntimeError("the log is gone")
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unsettled.add(future)
        future.add_done_callback(self._unsettled.discard)
        with self._lock:
            self._waiting.append(_Commit(rows, future, log))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="judgeharness-log", daemon=True)
                self._thread.start()
            else:
                self._more.notify()
        await asyncio.shield(future)

    async def settled(self) -> None:
        loop = asyncio.get_running_loop()
        mine = [future for future in list(self._unsettled) if future.get_loop() is loop]
        await asyncio.gather(*mine, return_exceptions=True)

    def _work(self) -> None:
        while batch := self._next_batch():
            error: Exception | None = None
            try:
                batch[0].log.append([row for commit in batch for row in commit.rows])
            except Exception as problem:  # noqa: BLE001 - it is told to everybody whose rows these are
                error = problem
            _tell([commit.future for commit in batch], error)
            del batch  # nothing of them is held while waiting

    def _next_batch(self) -> list[_Commit]:
        with self._lock:
            if not self._waiting and not self._more.wait_for(lambda: self._waiting, timeout=_IDLE_S):
                self._thread = None
                return []
            batch, self._waiting = self._waiting, []
            return batch


def _tell(futures: Sequence[asyncio.Future[None]], error: Exception | None) -> None:
    """Wake whoever waits for these rows, each in its own event loop."""
    for loop in {future.get_loop() for future in futures}:
        mine = [future for future in futures if future.get_loop() is loop]
        with suppress(RuntimeError):  # the loop was closed: nobody waits there any more
            loop.call_soon_threadsafe(_settle, mine, error)


def _settle(futures: Sequence[asyncio.Future[None]], error: Exception | None) -> None:
    for future in futures:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
            future.exception()  # a worker that was cancelled does not ask for it


_keepers: WeakKeyDictionary[VerdictLog, Keeper] = WeakKeyDictionary()
_guard = threading.Lock()


def keeper_for(log: VerdictLog) -> Keeper:
    """Return what keeps rows in a log; all runs that share a log with transactions share them."""
    if not getattr(log, "durable", False):
        return _AtOnce(log)
    with _guard:
        return _keepers.setdefault(log, _GroupCommit(log))


def _forget() -> None:
    global _guard  # noqa: PLW0603 - another thread may have held it when the process was forked
    _guard = threading.Lock()
    _keepers.clear()  # their threads are the parent's


with suppress(AttributeError):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget)
