"""Calls of a run that failed, set aside so that the run can ask them again."""

from __future__ import annotations

from collections.abc import Collection
from itertools import count

from sqlalchemy import select, update
from sqlalchemy.engine import Connection

from judgeharness_integrations.verdictlog.sql.schema import VERDICTS
from judgeharness_integrations.verdictlog.sql.store import Store
from judgeharness_integrations.verdictlog.texts import stored

__all__ = ["failed_of", "set_aside"]

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
