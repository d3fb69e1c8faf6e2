"""Where the members of JSON objects stand in a text, so that a file is edited and not dumped anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["JsonObject", "JsonValue", "json_document", "json_value"]

_SPACE = " \t\n\r"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, kw_only=True)
class JsonValue:
    """One value: what it is, and from where to where it stands (`end` excluded)."""

    start: int
    end: int
    value: Any


@dataclass(frozen=True, kw_only=True)
class JsonObject(JsonValue):
    """An object with its members, of which the last one counts where a key stands twice.

    `first_key` is where the first key stands; `spaced` is whether a blank follows the colon behind it.
    """

    members: Mapping[str, JsonValue] = field(default_factory=dict)
    first_key: int | None = None
    spaced: bool = True

    def member(self, *names: str) -> JsonValue | None:
        """Return the member of the first of the names that is there."""
        return next((self.members[name] for name in names if name in self.members), None)


def json_value(text: str, start: int = 0) -> JsonValue:
    """Return the value that stands at `start`, objects inside objects with their members.

    Raises:
        ValueError: it is no JSON.

    """
    start = _after_space(text, start)
    if text[start : start + 1] != "{":
        value, end = _DECODER.raw_decode(text, start)
        return JsonValue(start=start, end=end, value=value)
    members: dict[str, JsonValue] = {}
    spaced = True
    place = first = _after_space(text, start + 1)
    while text[place : place + 1] != "}":
        if text[place : place + 1] != '"':
            raise json.JSONDecodeError("Expecting a key in double quotes", text, place)
        key, place = _DECODER.raw_decode(text, place)
        place = _after_space(text, place)
        if text[place : place + 1] != ":":
            raise json.JSONDecodeError("Expecting ':' delimiter", text, place)
        spaced = text[place + 1 : place + 2] in _SPACE if not members else spaced
        members[key] = json_value(text, place + 1)
        place = _next_member(text, members[key].end)
    value = {key: member.value for key, member in members.items()}
    return JsonObject(
        start=start,
        end=place + 1,
        value=value,
        members=members,
        first_key=first if members else None,
        spaced=spaced,
    )


def json_document(text: str) -> JsonValue:
    """Return the only value of a text.

    Raises:
        ValueError: it is no JSON, something stands behind it, or it nests too deeply.

    """
    try:
        document = json_value(text)
    except RecursionError:
        raise ValueError("it nests too deeply to be read") from None
    if (end := _after_space(text, document.end)) != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return document


def _next_member(text: str, place: int) -> int:
    """Return the place of the next key, or of the brace that ends the object."""
    place = _after_space(text, place)
    if text[place : place + 1] == "}":
        return place
    if text[place : place + 1] != ",":
        raise json.JSONDecodeError("Expecting ',' delimiter", text, place)
    following = _after_space(text, place + 1)
    if text[following : following + 1] == "}":
        raise json.JSONDecodeError("Illegal trailing comma", text, place)
    return following


def _after_space(text: str, place: int) -> int:
    while text[place : place + 1] and text[place] in _SPACE:
        place += 1
    return place
