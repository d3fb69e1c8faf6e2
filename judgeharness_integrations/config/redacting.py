"""A configuration, and texts about it, as they may be written beside results: without its secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from judgeharness_integrations.verdictlog.runfolder import REDACTED

__all__ = ["redacted", "without_secrets"]

_SECRET = re.compile(
    r"api.?key|access.?key|private.?key|token(?!s)|secret|passw|passphrase|credential|bearer|cookie|headers"
    r"|(?:default|extra).?query|connection.?string|auth(?!ors?(?![a-z]))",  # authorization is one, author_b is none
    re.IGNORECASE,
)
_IN_URL = re.compile(r"(://)([^/\s]+)@")
_IN_QUERY = re.compile(r"(://[^\s?]*\?)([^\s#]+)")
_IN_TEXT = re.compile(r"\b(Bearer)\s+[\w.~+/=-]{6,}")
_SHORTEST = 6  # shorter ones, like `none`, would be found in any text


def redacted(value: Any) -> Any:
    """Return JSON-able data in which the value of every key that looks like a secret is replaced as a whole."""
    if isinstance(value, Mapping):
        return {
            str(key): REDACTED if part is not None and _SECRET.search(str(key)) else redacted(part)
            for key, part in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [redacted(part) for part in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return _plain(str(value))


def without_secrets(text: str, data: Any) -> str:
    """Return a text, an error's for example, in which no secret of the data occurs."""
    for secret in sorted(set(_secrets(data)), key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    return _plain(text)


def _plain(text: str) -> str:
    text = _IN_URL.sub(rf"\1{REDACTED}@", text)
    text = _IN_QUERY.sub(rf"\1{REDACTED}", text)
    return _IN_TEXT.sub(rf"\1 {REDACTED}", text)


def _secrets(value: Any, *, secret: bool = False) -> Iterator[str]:
    """Yield every text under a key that looks like a secret, or in a URL, and the words of each.

    `Bearer sk-1` is told as `sk-1` too.
    """
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _secrets(part, secret=secret or bool(_SECRET.search(str(key))))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _secrets(part, secret=secret)
    elif isinstance(value, str):
        inside = (
            [value] if secret else [found[1] for pattern in (_IN_URL, _IN_QUERY) for found in pattern.findall(value)]
        )
        words = (word for text in inside for word in (text, *re.split(r"[\s:=&]+", text)))
        yield from (word for word in words if len(word) >= _SHORTEST)
