"""Edits of a text: what is not edited stays as it is, to the character."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Edit", "edited", "insertion"]


@dataclass(frozen=True, kw_only=True, order=True)
class Edit:
    """`text` in the place of the characters from `start` to `end` (0-based, `end` excluded).

    Of several insertions at one place the one of the lowest `rank` stands first.
    """

    start: int
    end: int
    rank: int = 0
    text: str = ""


def insertion(place: int, text: str, *, rank: int = 0) -> Edit:
    """Return the edit that puts `text` before the character at `place`."""
    return Edit(start=place, end=place, text=text, rank=rank)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits made.

    Raises:
        ValueError: two of them overlap.

    """
    parts, done = [], 0
    for edit in sorted(edits):
        if edit.start < done:
            raise ValueError(f"two edits overlap at character {edit.start}.")
        parts += [text[done : edit.start], edit.text]
        done = edit.end
    return "".join([*parts, text[done:]])
