"""A text in pieces of readable size, cut where people would cut it; nothing but white space is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["LONGEST", "pieces", "unwrapped"]

LONGEST: Final = 1_200  # characters: a few paragraphs, which a model can cite as one place
# where a text may be cut, best first: after a paragraph, a sentence, a line, a word
_BORDERS: Final = tuple(
    map(re.compile, (r"\n[^\S\n]*\n", r"[.!?…][\"'”’»)\]]{0,3}(?=\s)|[。！？]", r"\n", r"\s"))  # noqa: RUF001 - full stops
)
_WRAPPED: Final = range(40, 201)  # the longest line of a text whose lines are broken where a page is full
_FULL: Final = 0.7  # of the longest line
_COLUMNS: Final = re.compile(r"\S\s{2,}\S|\t")
_LISTED: Final = re.compile(r"\s*(?:\d{1,3}|[a-zA-Z])[.)]\s")
_ENDED: Final = (".", "!", "?", ":")
_GOING: Final = (*_ENDED, ",", ";", "-")
_HYPHENATED: Final = re.compile(r"[^\W\d_]-$")


def pieces(text: str, *, longest: int = LONGEST) -> Iterator[str]:
    """Yield consecutive pieces of a text, each of at most `longest` characters, without white space at their ends.

    A cut is made in the second half of what a piece may hold: at the last end of a paragraph there, else of a sentence,
    of a line, of a word, else where the piece is full.
    """
    start = 0
    while start < len(text):
        left = len(text) - start
        # two pieces of about the same size rather than a full one and a rest
        most = longest if left >= 2 * longest else min(longest, 2 * left // 3)
        end = len(text) if left <= longest else _cut(text, start, start + most)
        if piece := text[start:end].strip():
            yield piece
        start = end


def _cut(text: str, start: int, end: int) -> int:
    half = start + (end - start) // 2
    for border in _BORDERS:
        ends = [found.end() for found in border.finditer(text, half, end)]
        if ends:
            return ends[-1]
    return end


def unwrapped(text: str) -> str:
    """Return a text whose lines were broken at the width of a page with its paragraphs in one line each.

    A line is joined to the one before where that is about as long as the longest and this one goes on with a letter,
    digit or quote; a word divided by a hyphen becomes one. Lists, columns and short lines stay as they are, and so does
    a text whose lines are longer, or shorter, than those of a page.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    longest = max(map(len, lines))
    if longest not in _WRAPPED:
        return text
    joined: list[str] = []
    before = ""
    for line in lines:
        if _goes_on(before, line, longest):
            divided = _HYPHENATED.search(before) and line.lstrip()[0].islower()
            joined[-1] = (joined[-1][:-1] if divided else joined[-1] + " ") + line.lstrip()
        else:
            joined.append(line)
        before = line
    return "\n".join(joined)


def _goes_on(before: str, line: str, longest: int) -> bool:
    """Whether a line goes on with the paragraph of the one before it."""
    begins = line.lstrip()[:1]
    if len(before) < _FULL * longest or not (begins.isalnum() or begins in ('"', "'", "(", "“", "‘")):  # noqa: RUF001 - quotes
        return False
    if before.endswith(_ENDED) and len(line) < longest / 2 and not line.endswith(_GOING):
        return False  # a heading
    return not (_LISTED.match(line) or _COLUMNS.search(line) or _COLUMNS.search(before.strip()))
