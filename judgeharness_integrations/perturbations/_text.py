"""What several perturbations need to know about a text: its lines, its code, whether it is JSON."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["BLANKS", "Chunk", "Spans", "chunks", "code_spans", "is_json", "lines", "looks_like_code", "map_prose"]

BLANKS = " \t\r\n"
_LINE = re.compile(r"[^\n]*+\n|[^\n]++")
_OPENING_FENCE = re.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?(`{3,}+|~{3,}+)(.*+)")
_CLOSING_FENCE = re.compile(r"[ \t>]*+(`{3,}+|~{3,}+)[ \t]*+\r?\n?")
_BACKTICKS = re.compile(r"`++")
_BLANK_LINE = re.compile(r"\n[ \t\r]*+\n")
_MARKED = re.compile(r"[ \t]*+(?:[-*+>|]|#{1,6}+|\d{1,9}[.)])[ \t]")
_CODE_LINE = re.compile(
    r"#include\b.*+"
    r"|(?:async )?(?:def|class) \w.*:"
    r"|(?:[\w.]++ = )?[\w.]++\((?:[^()]|\([^()]*+\))*+\)"
    r"|[])};,]++"
    r"|.*(?:[{;]|; ?\})"
)


class Chunk(NamedTuple):
    """A run of lines that is a code block, its fences included, or is not."""

    text: str
    code: bool


class Spans:
    """Disjoint stretches of a text, in order, with a test whether a position lies in one of them."""

    def __init__(self, pairs: list[tuple[int, int]]) -> None:
        """Keep the (start, end) pairs."""
        self.pairs = sorted(pairs)
        self._starts = [start for start, _ in self.pairs]

    def __contains__(self, position: int) -> bool:
        """Whether the position lies inside a stretch."""
        at = bisect_right(self._starts, position) - 1
        return at >= 0 and position < self.pairs[at][1]


def lines(text: str) -> list[str]:
    """Return the lines with their ends; only a line feed ends a line."""
    return _LINE.findall(text)


def chunks(text: str) -> list[Chunk]:
    """Split a text into code blocks and the rest; a fence that is never closed reaches to the end."""
    if text and "```" not in text and "~~~" not in text:
        return [Chunk(text, code=False)]
    return [
        Chunk("".join(line for _, line in group), code=block >= 0)
        for block, group in groupby(_fenced(text), key=lambda pair: pair[0])
    ]


def _fenced(text: str) -> Iterator[tuple[int, str]]:
    fence, block, count = "", -1, 0
    for line in lines(text):
        if fence:
            yield block, line
            closing = _CLOSING_FENCE.fullmatch(line)
            if closing and closing[1].startswith(fence):
                fence, block = "", -1
            continue
        opening = _OPENING_FENCE.match(line)
        if opening and not (opening[1][0] == "`" and "`" in opening[2]):
            fence, block, count = opening[1], count, count + 1
        yield block, line


def map_prose(text: str, change: Callable[[str], str]) -> str:
    """Return the text with `change` applied to every stretch outside code blocks."""
    return "".join(chunk.text if chunk.code else change(chunk.text) for chunk in chunks(text))


def code_spans(text: str) -> list[tuple[int, int, int]]:
    """Return the inline code of a text as (start, end, how many backticks fence it)."""
    found: list[tuple[int, int, int]] = []
    paragraph: list[tuple[int, int]] = []
    for run in _BACKTICKS.finditer(text):
        if paragraph and _BLANK_LINE.search(text, paragraph[-1][1], run.start()):
            found += _paired(paragraph)
            paragraph = []
        paragraph.append(run.span())
    return [*found, *_paired(paragraph)]


def _paired(runs: list[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    waiting: dict[int, list[int]] = defaultdict(list)
    for index in range(len(runs) - 1, -1, -1):
        waiting[runs[index][1] - runs[index][0]].append(index)
    index = 0
    while index < len(runs):
        start, end = runs[index]
        same = waiting[end - start]
        while same and same[-1] <= index:
            same.pop()
        if same:
            index = same[-1]
            yield start, runs[index][1], end - start
        index += 1


def is_json(text: str) -> bool:
    """Whether the whole text is one JSON object or array."""
    body = text.strip(BLANKS)
    if not body.startswith(("{", "[")):
        return False
    try:
        json.loads(body, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True


def looks_like_code(text: str) -> bool:
    """Whether a text without fences is more likely program text than prose."""
    written = [line.rstrip() for line in lines(text) if line.strip()]
    plain = [line for line in written if not _MARKED.match(line)]
    indented = sum(line.startswith(("  ", "\t")) for line in plain)
    telling = sum(not line[0].isspace() and _CODE_LINE.fullmatch(line) is not None for line in plain)
    return telling > 0 and 2 * (indented + telling) >= len(written)
