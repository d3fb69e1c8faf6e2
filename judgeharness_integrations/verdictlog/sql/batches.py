"""The journal of batches: what a provider is asked, from before it is submitted until the answers are rows.

A batch is `intended` before it is submitted, `open` once the provider's id is known, `collected` when its answers are
here and `tidied` when the provider keeps nothing of it any more. One that was not accepted leaves nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, NamedTuple, TypeAlias

from sqlalchemy import Select, bindparam, column, delete, select, table, update

from ..encoding import restored, stored
from .store import Store

BatchState: TypeAlias = Literal["intended", "open", "collected", "tidied"]
_AT_ONCE = 500  # ids a query names


@dataclass(frozen=True, kw_only=True)
class BatchRecord:
    """One batch of a run and judge: `batch` is our name of it, `provider_id` the provider's, None while unknown.

    `requests` and `answered` count requests; `input_tokens` and `output_tokens` are what it can take at most, None
    where its requests set no limit. `created_at` is when it was intended, ISO 8601 in UTC.
    """

    batch: str
    run: str
    judge: str
    provider: str
    address: str
    model: str
    created_at: str
    requests: int
    state: BatchState = "intended"
    provider_id: str | None = None
    answered: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether its answers are still to come."""
        return self.state in ("intended", "open")


class Asked(NamedTuple):
    """A request in the journal: its id, the sample it is for, the batch that holds it, whether its answer is here."""

    custom_id: str
    slot: str
    batch: str
    answered: bool


def slot_of(run: str, judge: str, place: tuple[str, str, int], attempt: int) -> str:
    """Return the slot of an attempt, counted from 1, at a sample: its requests are known by it in any process.

    `place` is a case, a perturbation and a repetition.
    """
    text = json.dumps([run, judge, *place, attempt])
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()


_DIGEST_BYTES = 16
_FIELDS = tuple(one.name for one in fields(BatchRecord))
BATCHES = table("judgeharness_batches", *map(column, _FIELDS))
REQUESTS = table("judgeharness_requests", *map(column, ("custom_id", "run", "judge", "slot", "batch", "answer")))
_TEXTS = ("run", "judge", "model", "address")


class BatchJournal:
    """The batches of a log; its methods may be called from any thread."""

    def __init__(self, store: Store) -> None:
        """Keep them in the tables of a log."""
        self._store = store

    def intend(self, record: BatchRecord, slots: Mapping[str, str]) -> None:
        """Note that requests, by id with their slots, are about to be submitted as a batch."""
        values = _to_values(asdict(record))
        own = {"run": values["run"], "judge": values["judge"], "batch": record.batch, "answer": None}
        asked = [{"custom_id": one, "slot": slot, **own} for one, slot in slots.items()]

        def work(connection: Any) -> None:
            connection.execute(delete(BATCHES).where(BATCHES.c.batch == record.batch))  # of an attempt before
            connection.execute(delete(REQUESTS).where(REQUESTS.c.batch == record.batch))
            connection.execute(BATCHES.insert().values(values))
            connection.execute(REQUESTS.insert(), asked)

        self._store.write(work)

    def note(self, batch: str, **changes: Any) -> None:
        """Change fields of a record."""
        changing = update(BATCHES).where(BATCHES.c.batch == batch).values(_to_values(changes))
        self._store.write(lambda connection: connection.execute(changing))

    def withdraw(self, batch: str) -> None:
        """Forget a batch that was not accepted."""

        def work(connection: Any) -> None:
            connection.execute(delete(REQUESTS).where(REQUESTS.c.batch == batch))
            connection.execute(delete(BATCHES).where(BATCHES.c.batch == batch))

        self._store.write(work)

    def collect(self, batch: str, answers: Mapping[str, str]) -> None:
        """Keep the answers of a batch by the ids of its requests, and forget requests without one; all or none."""
        mine = (REQUESTS.c.batch == batch) & (REQUESTS.c.custom_id == bindparam("one"))
        keeping = update(REQUESTS).where(mine).values(answer=bindparam("said"))
        kept = [{"one": one, "said": stored(said)} for one, said in answers.items()]

        def work(connection: Any) -> None:
            if kept:
                connection.execute(keeping, kept)
            connection.execute(delete(REQUESTS).where(REQUESTS.c.batch == batch, REQUESTS.c.answer.is_(None)))
            ended = {"state": "collected", "answered": len(answers)}
            connection.execute(update(BATCHES).where(BATCHES.c.batch == batch).values(ended))

        self._store.write(work)

    def asked(self, *, run: str, judge: str | None = None) -> list[Asked]:
        """Return the requests of a run, or of one judge in it, that are in its batches."""
        columns = REQUESTS.c.custom_id, REQUESTS.c.slot, REQUESTS.c.batch, REQUESTS.c.answer.is_not(None)
        query = select(*columns).where(REQUESTS.c.run == stored(run))
        if judge is not None:
            query = query.where(REQUESTS.c.judge == stored(judge))
        found = self._read(query)
        return [Asked(one, slot, batch, bool(here)) for one, slot, batch, here in found]

    def answers(self, custom_ids: Collection[str]) -> dict[str, str]:
        """Return the answers that are here by id of their request."""
        found: dict[str, str] = {}
        for some in _parts(list(custom_ids)):
            wanted = REQUESTS.c.custom_id.in_(some), REQUESTS.c.answer.is_not(None)
            query = select(REQUESTS.c.custom_id, REQUESTS.c.answer).where(*wanted)
            found |= {one: restored(answer) for one, answer in self._read(query)}
        return found

    def forget(self, *, run: str, judge: str) -> None:
        """Drop what the batches of a run and judge that are not open asked and were answered: it is rows now."""
        over = select(BATCHES.c.batch).where(BATCHES.c.state.in_(("collected", "tidied")))
        mine = REQUESTS.c.run == stored(run), REQUESTS.c.judge == stored(judge), REQUESTS.c.batch.in_(over)
        self._store.write(lambda connection: connection.execute(delete(REQUESTS).where(*mine)))

    def records(self, *, run: str | None = None, judge: str | None = None) -> list[BatchRecord]:
        """Return the batches of all runs, or of one run and judge, oldest first."""
        query = select(*(BATCHES.c[name] for name in _FIELDS)).order_by(BATCHES.c.created_at, BATCHES.c.batch)
        for name, value in (("run", run), ("judge", judge)):
            if value is not None:
                query = query.where(BATCHES.c[name] == stored(value))
        return [_to_record(found) for found in self._read(query)]

    def _read(self, query: Select[*tuple[Any, ...]]) -> Sequence[Any]:
        return self._store.read(lambda connection: connection.execute(query).all())


def _parts(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[first : first + _AT_ONCE] for first in range(0, len(ids), _AT_ONCE))


def _to_values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: stored(value) if name in _TEXTS else value for name, value in values.items()}


def _to_record(found: Iterable[Any]) -> BatchRecord:
    values: dict[str, Any] = dict(zip(_FIELDS, found, strict=True))
    texts: dict[str, Any] = {name: restored(values[name]) for name in _TEXTS}
    return BatchRecord(**values | texts)
