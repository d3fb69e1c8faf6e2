"""Rows in a database: found by field, by case, by what was asked; added with one statement, compiled once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import count, groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, Select, TableClause, func, literal_column, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import psycopg
from sqlalchemy.engine import Connection

from judgeharness_integrations._errors import UnknownNameError

from ..encoding import REUSED_FROM, ROW_COLUMNS, restored, stored, to_row, to_values
from ..row import VerdictRow
from .store import INDEXED, PROBES, REWRITES, VERDICTS, WRITTEN, Store

_AT_ONCE = 500  # values in one IN list
_JSON = ("verdict", "gold", "attributes")  # compared as Python does: 7 equals 7.0
_FEW = ("case_id", "probe_hash", "call_id")  # fields that few rows share
_COLUMNS = tuple(VERDICTS.c[name] for name in ROW_COLUMNS)


def rows_where(store: Store, where: Mapping[str, Any]) -> Iterator[VerdictRow]:
    """Yield the rows whose fields equal `where`, in the order they came.

    Raises:
        UnknownNameError: rows have no such field.

    """
    for name in where:
        if name not in ROW_COLUMNS:
            raise UnknownNameError("field of a row", name, ROW_COLUMNS)
    # SQLite would rather sort all rows of a run than read the table in order; the + keeps it from that
    in_order = store.address.path is not None and not any(name in where for name in _FEW)
    query = select(*_COLUMNS).order_by(VERDICTS.c.id)
    for name, value in where.items():
        if name not in _JSON:
            column = literal_column(f"+{name}") if in_order else VERDICTS.c[name]
            query = query.where(column == (stored(value) if isinstance(value, str) else value))
    later = {name: value for name, value in where.items() if name in _JSON}
    return _streamed(store, query, later)


def _streamed(store: Store, query: Select[Any], where: Mapping[str, Any]) -> Iterator[VerdictRow]:
    for values in store.stream(query):
        row = to_row(values)
        if all(getattr(row, name) == value for name, value in where.items()):
            yield row


def stored_values(store: Store, columns: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Yield the values of some of `ROW_COLUMNS` as they are stored, in the order the rows came."""
    return store.stream(select(*(VERDICTS.c[name] for name in columns)).order_by(VERDICTS.c.id))


def rows_of_cases(store: Store, *, run: str, judge: str, case_ids: Sequence[str]) -> dict[str, list[VerdictRow]]:
    """Return case id -> its rows in the order they came; cases without rows are left out."""
    mine = (VERDICTS.c.run == stored(run)) & (VERDICTS.c.judge == stored(judge))
    found: dict[str, list[VerdictRow]] = {}
    for values in _looked_up(store, mine, VERDICTS.c.case_id, case_ids):
        row = to_row(values[1:])
        found.setdefault(row.case_id, []).append(row)
    return found


def known_calls(store: Store, probe_hashes: Sequence[str], *, except_run: str) -> dict[str, list[list[VerdictRow]]]:
    """Return probe hash -> the calls of other runs that asked this and did not fail, each as its rows, oldest first.

    They are those that were paid for; copies stand in only where the log lacks all of them.
    """
    column = VERDICTS.c.probe_hash if store.address.path is None else PROBES.c.probe_hash
    other = VERDICTS.c.run != stored(except_run)
    if store.address.path is not None:
        other &= PROBES.c.id == VERDICTS.c.id
    known = _good(_looked_up(store, other & VERDICTS.c.reused_from.is_(None), column, probe_hashes))
    unknown = [one for one in probe_hashes if one not in known]
    return known | _good(_looked_up(store, other & VERDICTS.c.reused_from.is_not(None), column, unknown))


def taken_rows(store: Store, probe_hashes: Sequence[str], *, run: str) -> list[VerdictRow]:
    """Return the rows with these hashes that a run took over from others."""
    # the + keeps SQLite from reading the whole run
    name = literal_column("+run") if store.address.path is not None else VERDICTS.c.run
    mine = (name == stored(run)) & VERDICTS.c.reused_from.is_not(None)
    return [to_row(values[1:]) for values in _looked_up(store, mine, VERDICTS.c.probe_hash, probe_hashes)]


def _good(found: Iterable[Sequence[Any]]) -> dict[str, list[list[VerdictRow]]]:
    """Return hash -> its calls that did not fail; calls of one run share a hash where two cases show the same."""
    calls: dict[str, dict[tuple[Any, ...], list[VerdictRow]]] = {}
    for values in found:
        row = to_row(values[1:])
        call = (row.run, row.judge, row.case_id, row.perturbation, row.repetition)
        calls.setdefault(row.probe_hash or "", {}).setdefault(call, []).append(row)
    good = {
        probe: [rows for rows in those.values() if all(row.outcome != "error" for row in rows)]
        for probe, those in calls.items()
    }
    return {probe: those for probe, those in good.items() if those}


def _looked_up(
    store: Store, where: ColumnElement[bool], column: ColumnElement[Any], values: Sequence[str]
) -> list[Sequence[Any]]:
    """Return (id, row columns) where a column holds any of the values, in the order the rows came."""
    wanted = list(dict.fromkeys(stored(value) for value in values))
    found: list[Sequence[Any]] = []
    for start in range(0, len(wanted), _AT_ONCE):
        some = column.in_(wanted[start : start + _AT_ONCE])
        found += store.read(_all(select(VERDICTS.c.id, *_COLUMNS).where(where, some)))
    return sorted(found, key=itemgetter(0))


def _all(query: Select[Any]) -> Callable[[Connection], Sequence[Sequence[Any]]]:
    return lambda connection: connection.execute(query).all()


def has_rows(store: Store, *, run: str | None = None, judge: str | None = None) -> bool:
    """Whether there is a row of a run, of a judge."""
    query = _of(select(VERDICTS.c.id), run, judge).limit(1)
    return store.read(lambda connection: connection.execute(query).first()) is not None


def case_groups(store: Store, *, run: str, judge: str | None = None) -> Iterator[list[VerdictRow]]:
    """Yield all rows of every judge and case of a run, one case at a time, by judge and case id."""
    key = VERDICTS.c
    query = _of(select(key.id, *_COLUMNS), run, judge).order_by(
        key.run, key.judge, key.case_id, key.criterion, key.perturbation, key.repetition
    )
    place = 1 + ROW_COLUMNS.index("judge"), 1 + ROW_COLUMNS.index("case_id")
    for _, group in groupby(store.stream(query), key=itemgetter(*place)):
        yield [to_row(values[1:]) for values in sorted(group, key=itemgetter(0))]


def _of(query: Select[Any], run: str | None, judge: str | None) -> Select[Any]:
    if run is not None:
        query = query.where(VERDICTS.c.run == stored(run))
    return query if judge is None else query.where(VERDICTS.c.judge == stored(judge))


_INDEXED_AT_ONCE = 200_000  # ids indexed in one transaction
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
    last = min(indexed + _INDEXED_AT_ONCE, newest)
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


_FAILED = "/failed/"


def failed_of(run: str) -> str | None:
    """Return the run whose failed calls a run holds, None for any other run."""
    return run.rpartition(_FAILED)[0] or None


def set_aside(store: Store, *, run: str, judge: str, case_ids: Collection[str]) -> int:
    """Give rows of failed calls to the first of the runs `run/failed/1`, `run/failed/2` ... that is free.

    Returns:
        How many rows they were.

    """
    wanted = {stored(case_id) for case_id in case_ids}
    failed = select(VERDICTS.c.id, VERDICTS.c.case_id).where(
        VERDICTS.c.run == stored(run), VERDICTS.c.judge == stored(judge), VERDICTS.c.outcome == "error"
    )

    def work(connection: Connection) -> int:
        ids = [number for number, case_id in connection.execute(failed) if case_id in wanted]
        if ids:
            change = update(VERDICTS).values(run=_free(connection, stored(run)))
            for number in ids:
                connection.execute(change.where(VERDICTS.c.id == number))
        return len(ids)

    return store.write(work)


def _free(connection: Connection, run: str) -> str:
    taken = select(VERDICTS.c.id).limit(1)
    names = (f"{run}{_FAILED}{number}" for number in count(1))
    return next(name for name in names if connection.execute(taken.where(VERDICTS.c.run == name)).first() is None)


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
