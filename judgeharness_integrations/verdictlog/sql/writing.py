"""Adding rows and rewordings that were paid for: one statement, compiled once, for all rows of a transaction."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from sqlalchemy import TableClause, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import psycopg
from sqlalchemy.engine import Connection

from judgeharness_integrations.verdictlog.columns import REUSED_FROM, to_values
from judgeharness_integrations.verdictlog.encoding import restored, stored
from judgeharness_integrations.verdictlog.row import VerdictRow
from judgeharness_integrations.verdictlog.sql.schema import REWRITES, VERDICTS, WRITTEN
from judgeharness_integrations.verdictlog.sql.store import Store

__all__ = ["add_rewrite", "add_rows", "find_rewrite", "insert_new"]


def insert_new(connection: Connection, table: TableClause) -> Any:
    """Return an insert that leaves rows alone whose key is there."""
    return _insert_into(connection.dialect.name, table)


def add_rows(store: Store, rows: Iterable[VerdictRow]) -> int:
    """Commit the rows that are not there yet, all at once, and return how many they were."""
    values = [(*to_values(row), _payer(row)) for row in rows]
    if not values:
        return 0
    statement = _compiled(store.engine.dialect.name)
    return store.write(lambda connection: connection.exec_driver_sql(statement, values).rowcount)


def _payer(row: VerdictRow) -> str | None:
    """Return the run that paid for an answer this row's run took over."""
    payer = row.attributes.get(REUSED_FROM) if row.attributes else None
    return None if payer is None else stored(str(payer))


def _insert_into(dialect: str, table: TableClause) -> Any:
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    return insert(table).on_conflict_do_nothing()


@lru_cache
def _compiled(dialect: str) -> str:
    """Return the insert of a row by place: handing rows to the driver as tuples takes half the time of names."""
    placing: Any = sqlite.dialect if dialect == "sqlite" else psycopg.dialect
    style = "qmark" if dialect == "sqlite" else "format"
    insert = _insert_into(dialect, VERDICTS)
    return str(insert.compile(dialect=placing(paramstyle=style), column_keys=list(WRITTEN)))


def find_rewrite(store: Store, rewriter: str, text: str) -> str | None:
    """Return how a rewriter reworded a text."""
    return store.read(lambda connection: _find(connection, rewriter, text))


def add_rewrite(store: Store, rewriter: str, text: str, rewritten: str) -> str:
    """Keep a rewording and return the one that is kept: the first of a text stays."""
    values = {"rewriter": stored(rewriter), "text_hash": _hash(text), "rewritten": stored(rewritten)}

    def work(connection: Connection) -> str:
        connection.execute(insert_new(connection, REWRITES), values)
        return _find(connection, rewriter, text) or rewritten

    return store.write(work)


def _find(connection: Connection, rewriter: str, text: str) -> str | None:
    query = select(REWRITES.c.rewritten).where(
        REWRITES.c.rewriter == stored(rewriter), REWRITES.c.text_hash == _hash(text)
    )
    found = connection.execute(query).scalar()
    return None if found is None else restored(found)


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
