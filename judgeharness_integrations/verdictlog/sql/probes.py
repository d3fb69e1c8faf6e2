"""SQLite: finding rows by what was asked.

Hashes are random, so an index kept at every insert writes a page of its own for nearly every row, and the more the
larger the log. Only rows of other runs are ever looked for: SQLite indexes rows when a run first looks, sorted and
many at a time. PostgreSQL keeps an ordinary index.
"""

from __future__ import annotations

import threading

from sqlalchemy import func, select, update
from sqlalchemy.engine import Connection

from judgeharness_integrations.verdictlog.sql.schema import INDEXED, PROBES, VERDICTS
from judgeharness_integrations.verdictlog.sql.store import Store
from judgeharness_integrations.verdictlog.texts import stored

__all__ = ["ProbeIndex"]

_AT_ONCE = 200_000  # ids indexed in one transaction
_MOST_RUNS = 256  # remembered; of others the rows are looked through again


class ProbeIndex:
    """Keeps the index complete for whoever asks."""

    def __init__(self, store: Store) -> None:
        """Index rows of this store."""
        self._store = store
        self._lock = threading.Lock()
        self._own: dict[str, int] = {}  # run -> the id up to which all rows that are not indexed are its own

    def refresh(self, run: str) -> None:
        """Index every row of other runs than this one."""
        if self._store.address.path is None:
            return
        newest, foreign = self._store.read(lambda connection: self._look(connection, run))
        if foreign:
            while self._store.write(lambda connection: _index_some(connection, newest)):
                pass
        with self._lock:
            self._own.pop(run, None)
            self._own[run] = newest
            if len(self._own) > _MOST_RUNS:
                del self._own[next(iter(self._own))]

    def _look(self, connection: Connection, run: str) -> tuple[int, bool]:
        """Return the newest id, and whether a row of another run is not indexed yet."""
        newest = connection.execute(select(func.max(VERDICTS.c.id))).scalar() or 0
        indexed = connection.execute(select(INDEXED.c.up_to)).scalar() or 0
        first = max(indexed, self._own.get(run, 0))
        between = VERDICTS.c.id.between(first + 1, newest)
        foreign = select(VERDICTS.c.id).where(between, VERDICTS.c.run != stored(run)).limit(1)
        return newest, connection.execute(foreign).first() is not None


def _index_some(connection: Connection, newest: int) -> bool:
    """Index the next rows; return whether there are more."""
    indexed = connection.execute(select(INDEXED.c.up_to)).scalar() or 0
    last = min(indexed + _AT_ONCE, newest)
    if last <= indexed:
        return False
    rows = (
        select(VERDICTS.c.probe_hash, VERDICTS.c.id)
        .where(VERDICTS.c.id.between(indexed + 1, last), VERDICTS.c.probe_hash.is_not(None))
        .order_by(VERDICTS.c.probe_hash)
    )
    connection.execute(PROBES.insert().from_select(["probe_hash", "id"], rows))
    connection.execute(update(INDEXED).values(up_to=last))
    return last < newest
