"""Run records in a database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.engine import Connection

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.sql.records import RunRecord, check_state
from judgeharness_integrations.verdictlog.sql.schema import RUNS, VERDICTS
from judgeharness_integrations.verdictlog.sql.store import Store
from judgeharness_integrations.verdictlog.texts import restored, stored

__all__ = ["add_record", "change_record", "now", "read_record", "read_records", "run_ids"]

_JSON = ("config", "parts", "prices")
_FIELDS = tuple(one.name for one in fields(RunRecord))
_CHANGEABLE = tuple(name for name in _FIELDS if name not in ("run", "created_at"))


def now() -> str:
    """Return the time as records keep it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def add_record(store: Store, record: RunRecord) -> None:
    """Add the record of a new run.

    Raises:
        UsageError: there is another record of that run.

    """
    values = _to_values({name: getattr(record, name) for name in _FIELDS})

    def work(connection: Connection) -> RunRecord | None:
        known = _of(connection, record.run)
        if known is None:
            connection.execute(RUNS.insert().values(values))
        return known

    known = store.write(work)
    if known is not None and known != record:  # an equal one: the connection was lost after the commit
        raise UsageError(f"{store.address.name}: holds a run {record.run!r} already: continue it, or name another.")


def change_record(store: Store, run: str, changes: Mapping[str, Any]) -> None:
    """Change fields of a record; `updated_at` is now unless it is given.

    Raises:
        UsageError: there is no such run, field or state.

    """
    for name in changes:
        if name not in _CHANGEABLE:
            raise UnknownNameError("field of a run", name, _CHANGEABLE)
    if "state" in changes:
        check_state(changes["state"])
    values = _to_values({"updated_at": now(), **changes})
    changing = update(RUNS).where(RUNS.c.run == stored(run)).values(values)
    if not store.write(lambda connection: connection.execute(changing).rowcount):
        raise UsageError(f"{store.address.name}: holds no record of a run {run!r}.")


def read_record(store: Store, run: str) -> RunRecord | None:
    """Return the record of a run."""
    return store.read(lambda connection: _of(connection, run))


def read_records(store: Store) -> list[RunRecord]:
    """Return every record, oldest first."""
    query = _select().order_by(RUNS.c.created_at, RUNS.c.run)
    return store.read(lambda connection: [_to_record(found) for found in connection.execute(query)])


def run_ids(store: Store) -> list[str]:
    """Return the runs that have rows, with or without a record, sorted as the database sorts."""
    return store.read(lambda connection: list(_runs_of_rows(connection)))


def _runs_of_rows(connection: Connection) -> Iterator[str]:
    """Step from run to run through the index: there may be millions of rows and a handful of runs."""
    query = select(func.min(VERDICTS.c.run))
    found = connection.execute(query).scalar()
    while found is not None:
        yield restored(found)
        found = connection.execute(query.where(VERDICTS.c.run > found)).scalar()


def _select() -> Any:
    return select(*(RUNS.c[name] for name in _FIELDS))


def _of(connection: Connection, run: str) -> RunRecord | None:
    found = connection.execute(_select().where(RUNS.c.run == stored(run))).one_or_none()
    return None if found is None else _to_record(found)


def _to_record(found: Any) -> RunRecord:
    values: dict[str, Any] = {
        name: restored(value) if isinstance(value, str) else value for name, value in zip(_FIELDS, found, strict=True)
    }
    for name in _JSON:
        values[name] = None if values[name] is None else json.loads(values[name])
    return RunRecord(**values)


def _to_values(given: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(given)
    for name in _JSON:
        if values.get(name) is not None:
            values[name] = json.dumps(values[name], default=dict)
    return {name: stored(value) if isinstance(value, str) else value for name, value in values.items()}
