"""Where the keys of a JSON text stand: `json` does not say."""

from __future__ import annotations

import json
import re
from typing import TypeAlias

__all__ = ["Path", "key_places"]

Path: TypeAlias = tuple[str | int, ...]
_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def key_places(text: str) -> dict[Path, tuple[int, int]]:
    """Return the path of every value -> offsets (start, end); the start of a member of an object is that of its key.

    Args:
        text: valid JSON. Items of arrays have their index as key. Of keys that stand twice the last one counts.

    """
    places: dict[Path, tuple[int, int]] = {}
    _value(text, _skip(text, 0), (), places)
    return places


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _value(text: str, at: int, path: Path, places: dict[Path, tuple[int, int]]) -> int:
    """Note what is inside the value at an offset and return its end."""
    if text[at] not in "{[":
        return _DECODER.raw_decode(text, at)[1]
    is_object, close = text[at] == "{", "}" if text[at] == "{" else "]"
    at, index = _skip(text, at + 1), 0
    while text[at] != close:
        start, key = at, index
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # over the colon
        inner = (*path, key)
        at = _value(text, at, inner, places)
        places[inner] = (start, at)
        at, index = _skip(text, at), index + 1
        at = _skip(text, at + 1) if text[at] == "," else at
    return at + 1
