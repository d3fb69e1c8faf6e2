"""Texts of users and models as cells of a spreadsheet, which must not run them."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["QUOTE", "defused"]

QUOTE: Final = "'"  # what stands before a text that a spreadsheet would run

_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")  # noqa: RUF001 - full-width forms count, too
_NUMBER = re.compile(r"[+-]\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)  # runs nowhere, and is to stay a number


def defused(text: str) -> str:
    """Return a text with a quote before it where a spreadsheet would take it for a formula.

    One that begins with a quote is given another, so that taking one off gives back every text.
    """
    if text[:1] not in _FORMULA and text[:1] != QUOTE:
        return text
    return text if _NUMBER.fullmatch(text) else QUOTE + text
