"""Texts in stores that refuse some characters: PostgreSQL takes neither NUL nor half an emoji, SQLite no half one."""

from __future__ import annotations

import re

__all__ = ["restored", "stored"]

# U+001A SUBSTITUTE is made for characters that cannot be stored; texts without any of these are kept as they are
_UNSAFE = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")


def stored(text: str) -> str:
    """Return the text with NUL, U+001A and lone surrogates as U+001A and four hexadecimal digits."""
    if text.isascii() and "\x00" not in text and "\x1a" not in text:
        return text
    return _UNSAFE.sub(lambda match: f"\x1a{ord(match[0]):04x}", text)


def restored(text: str) -> str:
    """Return the text that `stored` was given."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "\x1a" in text else text
