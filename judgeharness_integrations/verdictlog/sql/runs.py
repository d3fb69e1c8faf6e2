"""What a log knows of a run besides its rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias, get_args

from sqlalchemy import ColumnElement, Select, and_, case, distinct, func, literal, or_, select, union_all, update
from sqlalchemy.engine import Connection

from judgeharness_integrations._errors import UnknownNameError, UsageError

from ..encoding import restored, stored
from ..row import TOKENS, ModelUsage
from .store import RUNS, VERDICTS, Store

RunState: TypeAlias = Literal["running", "complete", "budget_exhausted", "interrupted", "judge_down", "failed"]
ORDER_SEED: Final = "order_seed"  # among the parts: whoever continues a run that is watched asks in the same order
RUN_STATES: tuple[RunState, ...] = get_args(RunState)


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A run of a log. Times are ISO 8601 in UTC; what is not known is None.

    `config` (no secrets in it) and `parts` (what the answers depend on) are JSON objects, and so is `prices`.
    """

    run: str
    state: RunState
    created_at: str
    updated_at: str
    version: str
    config: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    planned_cases: int | None = None
    planned_calls: int | None = None
    prices: Any = None
    attempts_spent: int | None = None

    @property
    def until(self) -> bool:
        """Whether it asks until its gates are settled: its cases may be as many as its answers asked for."""
        return ORDER_SEED in self.parts

    @property
    def cases_a_judge(self) -> int | None:
        """How many cases each of its judges was to be asked about; None where that was not noted."""
        judges = len(self.config.get("judges", ()))
        return None if not judges or self.planned_cases is None else self.planned_cases // judges

    def planned(self, judges: Iterable[str]) -> dict[str, int]:
        """Return judge -> cases it was to be asked about, where that is known of one.

        Later judges of a cascade are asked about what is left to them, which nobody knows before.
        """
        cases, in_turn = self.cases_a_judge, self.config.get("cascade")
        return {} if cases is None else {name: cases for name in judges if not in_turn or name == in_turn[0]}

    @property
    def cases_digest(self) -> str | None:
        """The digest of the content of its cases, in their order; None where it was not noted."""
        found = self.parts.get("cases", {}).get("content")
        return None if found is None else str(found)

    def __post_init__(self) -> None:
        """Refuse a state that does not exist."""
        check_state(self.state)


def check_state(state: str) -> None:
    """Raise an UnknownNameError unless runs can be in this state."""
    if state not in RUN_STATES:
        raise UnknownNameError("run state", state, RUN_STATES)


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


_USAGE_FIELDS = tuple(one.name for one in fields(ModelUsage))
_TEXTS = ("judge", "model", "service_tier")
_NOT_CACHED = ("false", "0", "0.0", '""')  # what a judge may say of an answer that came from no cache


def usage_of(store: Store, run: str) -> tuple[ModelUsage, ...]:
    """Return what a run used, by judge, model and tier: what answers cost is linear in their tokens within one."""
    calls = union_all(_calls(run, shared=False), _calls(run, shared=True)).subquery().c
    answered = or_(calls.failed == 0, calls.input_tokens.is_not(None))
    paid = and_(calls.made == 1, answered, calls.cached == 0)
    silent = (calls.input_tokens.is_(None), calls.output_tokens.is_(None))
    query = (
        select(
            calls.judge,
            calls.model,
            calls.service_tier,
            func.sum(calls.rows),
            func.count(distinct(calls.case_id)),
            func.count(),
            func.sum(calls.reused),
            func.sum(calls.made),
            func.sum(_flag(and_(paid, *silent))),
            func.sum(_flag(and_(paid, or_(*silent)))),
            func.sum(calls.attempts),
            *(func.sum(case((paid, calls[name]))) for name in TOKENS),
            func.sum(calls.latency_s),
            func.sum(calls.errors),
            func.max(case((paid, calls.input_tokens))),
            func.max(case((paid, calls.output_tokens))),
            func.max(case((paid, calls.cache_write_tokens))),
            func.min(case((paid, func.coalesce(calls.cached_input_tokens, 0)))),
        )
        .group_by(calls.judge, calls.model, calls.service_tier)
        .order_by(calls.judge, calls.model, calls.service_tier)
    )
    return store.read(lambda connection: tuple(_usage(found) for found in connection.execute(query)))


def _calls(run: str, *, shared: bool) -> Select[Any]:
    """Select a run's calls, a line each: those whose rows share a `call_id`, or those of one row."""
    rows = VERDICTS.c
    total, most, least = (func.sum, func.max, func.min) if shared else (_same, _same, _same)
    reused = most(_flag(rows.reused_from.is_not(None)))
    unmade = most(_flag(rows.attempts == 0))
    failed = _flag(rows.outcome == "error")
    query = select(
        rows.judge,
        rows.case_id,
        most(rows.model).label("model"),
        most(rows.service_tier).label("service_tier"),
        (func.count() if shared else literal(1)).label("rows"),
        reused.label("reused"),
        _flag(and_(reused == 0, unmade == 0)).label("made"),
        least(failed).label("failed"),
        most(_cached()).label("cached"),
        *(total(rows[name]).label(name) for name in ("attempts", *TOKENS, "latency_s")),
        total(failed).label("errors"),
    ).where(rows.run == stored(run))
    if not shared:
        return query.where(rows.call_id.is_(None))
    return query.where(rows.call_id.is_not(None)).group_by(rows.judge, rows.case_id, rows.call_id)


def _same(column: ColumnElement[Any]) -> ColumnElement[Any]:
    return column


def _flag(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)


def _cached() -> ColumnElement[int]:
    """Read the attribute `cached` out of the JSON text, whose strings hold no quote that is not escaped.

    Neither database's own JSON functions read every text that is JSON to Python: NaN, lone surrogates.
    """
    there = or_(_holds('{"cached": '), _holds(', "cached": '))
    denied = [_holds(f'"cached": {value}{end}') for value in _NOT_CACHED for end in ",}"]
    return case((VERDICTS.c.attributes.is_(None), 0), (and_(there, ~or_(*denied)), 1), else_=0)


def _holds(text: str) -> ColumnElement[bool]:
    attributes = VERDICTS.c.attributes
    return func.replace(attributes, text, "") != attributes  # LIKE ignores case in one of the databases


def _usage(found: Sequence[Any]) -> ModelUsage:
    values = dict(zip(_USAGE_FIELDS, found, strict=True))
    for name, value in values.items():  # PostgreSQL sums to decimals
        if value is not None and name not in (*_TEXTS, "latency_s"):
            values[name] = int(value)
    values |= {name: None if values[name] is None else restored(values[name]) for name in _TEXTS}
    return ModelUsage(**values)
