"""Names that options take: one of those that are known, or several with commas between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from judgeharness_integrations._errors import UnknownNameError

_Name = TypeVar("_Name", bound=str)


def one_of(kind: str, name: str, known: Sequence[_Name]) -> _Name:
    """Return the one of the `known` names that was given.

    Raises:
        UnknownNameError: it is none of them; the nearest is offered.

    """
    for candidate in known:
        if candidate == name:
            return candidate
    raise UnknownNameError(kind, name, known)


def names_in(given: Iterable[str]) -> tuple[str, ...]:
    """Return each name once, of an option that is repeated, takes commas between names, or both."""
    return tuple(dict.fromkeys(name.strip() for text in given for name in text.split(",") if name.strip()))
