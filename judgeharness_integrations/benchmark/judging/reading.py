"""Values of a judge's JSON answer -> verdicts, or None for what is no answer; nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from judgeharness_integrations.benchmark.judging.gold import FLAWED, SOUND, turn_label

__all__ = ["flawed_of", "label_of", "score_of", "turn_of"]

_WHOLE = re.compile(r"[0-9]{1,6}")


def label_of(labels: Sequence[str]) -> Callable[[Any], str | None]:
    """Return what reads one of some labels, as it is written."""
    known = frozenset(labels)

    def read(value: Any) -> str | None:
        label = value.strip() if isinstance(value, str) else None
        return label if label in known else None

    return read


def turn_of(value: Any) -> str | None:
    """Return the label of a turn's number; whether the case has that turn is not looked at."""
    number = _whole(value)
    return None if number is None or number < 1 else turn_label(number)


def score_of(low: int, high: int) -> Callable[[Any], int | None]:
    """Return what reads a whole number between two, both included."""

    def read(value: Any) -> int | None:
        number = _whole(value)
        return number if number is not None and low <= number <= high else None

    return read


def flawed_of(value: Any) -> str | None:
    """Return the label of true and false."""
    return (FLAWED if value else SOUND) if isinstance(value, bool) else None


def _whole(value: Any) -> int | None:
    """Return a whole number, also one a model writes as 8.0 or as text; a bool is none."""
    if isinstance(value, str):
        return int(value) if _WHOLE.fullmatch(value.strip()) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
