"""Rewordings that were paid for: a resumed run uses the same ones."""

from __future__ import annotations

from hashlib import blake2b

from sqlalchemy import select
from sqlalchemy.engine import Connection

from judgeharness_integrations.verdictlog.sql.schema import REWRITES
from judgeharness_integrations.verdictlog.sql.store import Store
from judgeharness_integrations.verdictlog.sql.writing import insert_new
from judgeharness_integrations.verdictlog.texts import restored, stored

__all__ = ["add_rewrite", "find_rewrite"]


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
