"""What a case cost, summed over its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["Usage", "known_sum", "reused_from", "usage_of_rows"]

_N = TypeVar("_N", int, float)
_REUSED = "reused_from"  # the attribute that names the run that paid


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What the case cost: calls, attempts (retries included), rewrites, tokens, seconds of waiting for the judge.

    Tokens and seconds are None where no call reported them. `reused` counts answers an earlier run had paid for; they
    are no calls of this one.
    """

    calls: int
    attempts: int
    rewrites: int
    input_tokens: int | None
    output_tokens: int | None
    latency_s: float | None
    reused: int = 0


def usage_of_rows(rows: Sequence[VerdictRow], *, rewrites: int = 0) -> Usage:
    """Return what the calls behind the rows cost; rows that share a `call_id` are one call.

    A row with 0 attempts stands for no call: its perturbation failed, or its answer was re-used.
    """
    asked: set[object] = set()
    never_made: set[object] = set()
    reused: set[object] = set()
    for row in rows:
        call = row.call_id if row.call_id is not None else row.key
        asked.add(call)
        if row.attempts == 0:
            never_made.add(call)
        if _REUSED in row.attributes:
            reused.add(call)
    calls = len(asked - never_made - reused)
    attempts = known_sum([row.attempts for row in rows])
    return Usage(
        calls=calls,
        attempts=calls if attempts is None else attempts,
        rewrites=rewrites,
        input_tokens=known_sum([row.input_tokens for row in rows]),
        output_tokens=known_sum([row.output_tokens for row in rows]),
        latency_s=known_sum([row.latency_s for row in rows]),
        reused=len(reused),
    )


def reused_from(rows: Sequence[VerdictRow]) -> tuple[str, ...]:
    """Return the runs whose answers were re-used, in order of appearance."""
    return tuple(dict.fromkeys(str(row.attributes[_REUSED]) for row in rows if _REUSED in row.attributes))


def known_sum(values: Iterable[_N | None]) -> _N | None:
    """Return the sum of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None
