"""Texts of users and models as cells of a spreadsheet, which must not run them."""

from __future__ import annotations

from typing import Final

__all__ = ["QUOTE", "defused"]

QUOTE: Final = "'"  # what stands before a text that a spreadsheet would run

_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")  # noqa: RUF001 - full-width forms count, too


def defused(text: str) -> str:
    """Return a text with a quote before it where a spreadsheet would take it for a formula.

    One that begins with a quote is given another, so that taking one off gives back every text.
    """
    return QUOTE + text if text[:1] in _FORMULA or text[:1] == QUOTE else text
