"""What the author of a rewritten file has to know of its numbers, a sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from judgeharness_integrations.migration.rewriting.outcome import Change

__all__ = ["ONCE", "notes_on"]

ONCE = "has temperature 0, and repetitions would be copies of one answer: each question is asked once (repetitions=1)"
_SHOWN = 8


def notes_on(changes: Sequence[Change]) -> Iterator[str]:
    """Yield the notes on the changes of a Python file."""
    frozen = [one.line for one in changes if one.once]
    if frozen:
        yield f"{_lines(frozen)}: the model {ONCE}."
    for one in changes:
        if one.judges > 1:
            several = "" if one.exact else "at least "
            yield f"line {one.line} makes {several}{one.judges} judges; the calls are those of all of them."
    unclear = [one.line for one in changes if not one.exact and one.judges == 1]
    if unclear:
        yield f"{_lines(unclear)}: how many judges a loop makes, only running it tells; at least one is counted."


def _lines(lines: Iterable[int]) -> str:
    told = sorted(set(lines))
    shown = ", ".join(map(str, told[:_SHOWN])) + (f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else "")
    return f"line {shown}" if len(told) == 1 else f"lines {shown}"
