"""What a case cost, summed over its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

from judgeharness_integrations.verdictlog.row import TOKENS, VerdictRow

__all__ = ["Usage", "known_sum", "reused_from", "tokens_of", "usage_of_rows"]

_tokens = attrgetter(*TOKENS)
_N = TypeVar("_N", int, float)
_REUSED = "reused_from"  # the attribute that names the run that paid
_CACHED = "cached"  # the attribute of an answer from the user's own cache, for which nobody paid


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What the case cost: calls, attempts (retries included), rewrites, tokens, seconds of waiting for the judge.

    Tokens and seconds are None where no call reported them; those read from the provider's prompt cache, or written to
    it, are among `input_tokens`. An answer from a cache of the user's own took no tokens. `reused` counts answers an
    earlier run had paid for; they are no calls of this one.
    """

    calls: int
    attempts: int
    rewrites: int
    input_tokens: int | None
    output_tokens: int | None
    latency_s: float | None
    reused: int = 0
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None


def usage_of_rows(rows: Sequence[VerdictRow], *, rewrites: int = 0) -> Usage:
    """Return what the calls behind the rows cost; rows that share a `call_id` are one call.

    A row with 0 attempts stands for no call: its perturbation failed, or its answer was re-used.
    """
    asked: set[object] = set()
    never_made: set[object] = set()
    reused: set[object] = set()
    uncached, attempted, waited = [], [], []
    for row in rows:
        call = row.call_id if row.call_id is not None else row.key
        asked.add(call)
        attempted.append(row.attempts)
        waited.append(row.latency_s)
        if row.attempts == 0:
            never_made.add(call)
        if row.attributes:
            if _REUSED in row.attributes:
                reused.add(call)
            if row.attributes.get(_CACHED):
                continue
        uncached.append(row)
    calls = len(asked - never_made - reused) if never_made or reused else len(asked)
    attempts = known_sum(attempted)
    return Usage(
        calls=calls,
        attempts=calls if attempts is None else attempts,
        rewrites=rewrites,
        **tokens_of(uncached),
        latency_s=known_sum(waited),
        reused=len(reused),
    )


def tokens_of(used: Iterable[VerdictRow] | Iterable[Usage]) -> dict[str, int | None]:
    """Return the sum of each of `TOKENS`, None where nobody reported any."""
    told = zip(*map(_tokens, used), strict=True)
    return dict.fromkeys(TOKENS) | dict(zip(TOKENS, map(known_sum, told), strict=False))


def reused_from(rows: Sequence[VerdictRow]) -> tuple[str, ...]:
    """Return the runs whose answers were re-used, in order of appearance."""
    return tuple(dict.fromkeys(str(row.attributes[_REUSED]) for row in rows if _REUSED in row.attributes))


def known_sum(values: Iterable[_N | None]) -> _N | None:
    """Return the sum of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None
