"""A row as values of typed columns, as databases and Parquet keep it: verdict, gold and attributes are JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.verdictlog.encoding import ROW_FIELDS, restored, stored
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_to_json

__all__ = [
    "LENGTH_COLUMNS",
    "REUSED_FROM",
    "ROW_COLUMNS",
    "check_columns",
    "columns_together",
    "to_row",
    "to_values",
    "values_together",
]


ROW_COLUMNS = (*ROW_FIELDS, "attributes")
LENGTH_COLUMNS = (("length_a", "length_b"), ("length", "length_b"))  # how long the two answers of a pair are
REUSED_FROM = "reused_from"  # the attribute of a row that was taken from an earlier run: the run that paid


@lru_cache(maxsize=4096, typed=True)  # typed: 7 equals 7.0, and neither is "7"
def _encoded(verdict: Verdict) -> str:
    return json.dumps(verdict_to_json(verdict))


@lru_cache(maxsize=4096)
def _decoded(text: str) -> Verdict:
    value = json.loads(text)
    return frozenset(value) if isinstance(value, list) else value


def _stored(text: str | None) -> str | None:
    return None if text is None else stored(text)


def _restored(text: str | None) -> str | None:
    return None if text is None else restored(text)


def to_values(row: VerdictRow) -> tuple[Any, ...]:
    """Return the values of `ROW_COLUMNS`."""
    attributes = row.attributes
    return (
        stored(row.case_id),
        None if row.verdict is None else _encoded(row.verdict),
        stored(row.run),
        stored(row.judge),
        stored(row.criterion),
        stored(row.perturbation),
        row.repetition,
        row.swapped,
        row.outcome,
        None if row.gold is None else _encoded(row.gold),
        _stored(row.call_id),
        _stored(row.reasoning),
        _stored(row.raw),
        _stored(row.model),
        row.input_tokens,
        row.output_tokens,
        row.cached_input_tokens,
        row.cache_write_tokens,
        _stored(row.service_tier),
        _stored(row.finish_reason),
        row.latency_s,
        row.attempts,
        _stored(row.error),
        _stored(row.asked_at),
        _stored(row.probe_hash),
        json.dumps(dict(attributes)) if attributes else None,
    )


def to_row(values: Sequence[Any]) -> VerdictRow:
    """Return the row of the values of `ROW_COLUMNS`."""
    case_id, verdict, run, judge, criterion, perturbation, repetition, swapped, outcome, gold, *evidence = values
    call_id, reasoning, raw, model, input_tokens, output_tokens, cached_input, cache_write, *last = evidence
    service_tier, finish_reason, latency_s, attempts, error, asked_at, probe_hash, attributes = last
    return VerdictRow(
        case_id=restored(case_id),
        verdict=None if verdict is None else _decoded(verdict),
        run=restored(run),
        judge=restored(judge),
        criterion=restored(criterion),
        perturbation=restored(perturbation),
        repetition=repetition,
        swapped=bool(swapped),
        outcome=outcome,
        gold=None if gold is None else _decoded(gold),
        call_id=_restored(call_id),
        reasoning=_restored(reasoning),
        raw=_restored(raw),
        model=_restored(model),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_input_tokens=cached_input,
        cache_write_tokens=cache_write,
        service_tier=_restored(service_tier),
        finish_reason=_restored(finish_reason),
        latency_s=latency_s,
        attempts=attempts,
        error=_restored(error),
        asked_at=_restored(asked_at),
        probe_hash=_restored(probe_hash),
        attributes=json.loads(attributes) if attributes else {},
    )


def columns_together(name: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the columns of a name: several with commas between, unless one of those that are known is called so."""
    if name in known:
        return (name,)
    return tuple(dict.fromkeys(part.strip() for part in name.split(",") if part.strip())) or (name,)


def values_together(values: Sequence[str]) -> str:
    """Return what a case says in several columns as one text, which tells `a, b` beside `c` from `a` beside `b, c`."""
    if len(values) == 1:
        return values[0]
    return ", ".join(json.dumps(value, ensure_ascii=False) if {*',"'} & {*value} else value for value in values)


def check_columns(name: str | None, known: Collection[str]) -> None:
    """Refuse a name of columns of which one is not known.

    Raises:
        UnknownNameError: it names the column, and those that are known.

    """
    for column in () if name is None else columns_together(name, known):
        if column not in known:
            raise UnknownNameError("column", column, known)
