"""What a verifier answered, read strictly: a value of the type that was asked for, or a reason why not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judgeharness_integrations.benchmark.asking.asker import UnreadableError
from judgeharness_integrations.benchmark.records import clean

__all__ = ["LONGEST_WORDS", "because", "entries_of", "flag_of", "maybe_text_of", "round_of", "text_of", "words"]

LONGEST_WORDS = 300


def entries_of(data: Mapping[str, Any], key: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the objects of a list, each with how a reason names it.

    Raises:
        UnreadableError: there is no such list, or something else is in it.

    """
    entries = data.get(key)
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise UnreadableError(f"the answer has no list {key!r}")
    for number, entry in enumerate(entries, start=1):
        where = f"entry {number} of {key!r}"
        if not isinstance(entry, Mapping):
            raise UnreadableError(f"{where} is no object")
        yield entry, where


def text_of(entry: Mapping[str, Any], key: str, where: str = "the answer") -> str:
    """Return a text, cleaned and on one line; it may be empty.

    Raises:
        UnreadableError: there is none.

    """
    text = entry.get(key)
    if not isinstance(text, str):
        raise UnreadableError(f"{where} has no text {key!r}")
    return " ".join(clean(text).split())


def maybe_text_of(entry: Mapping[str, Any], key: str, where: str) -> str | None:
    """Return a text as `text_of` does, None for an empty one, null, or a missing key."""
    return None if entry.get(key) is None else text_of(entry, key, where) or None


def flag_of(entry: Mapping[str, Any], key: str, where: str = "the answer") -> bool:
    """Return whether something is so.

    Raises:
        UnreadableError: neither true nor false is said.

    """
    flag = entry.get(key)
    if not isinstance(flag, bool):
        raise UnreadableError(f"{where} does not say true or false for {key!r}")
    return flag


def round_of(entry: Mapping[str, Any], where: str) -> int:
    """Return a number of a round, whichever it is.

    Raises:
        UnreadableError: it is no whole number.

    """
    number = entry.get("round")
    if type(number) is not int:
        raise UnreadableError(f"{where} has no whole number 'round'")
    return number


def words(text: str, limit: int = LONGEST_WORDS) -> str:
    """Return a verifier's words as a reason quotes them: cleaned, on one line, cut at so many characters."""
    said = " ".join(clean(text).split())
    return said if len(said) <= limit else said[: limit - 1].rstrip() + "…"


def because(sentence: str, text: str) -> str:
    """Return a reason, and behind a colon the verifier's words for it where there are any."""
    said = words(text)
    return f"{sentence}: {said}" if said else sentence
