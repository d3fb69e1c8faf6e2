"""Markdown taken off a text, every word and every code block kept."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from judgeharness_integrations.perturbations._text import Spans, code_spans, lines, map_prose

__all__ = ["without_markdown"]

# A digit after the marker could be a negative number, and a numbered item is known by its number: both stay.
_ITEM = re.compile(r"([ \t]*+)[-*+][ \t]++(?=\S)(?![*_]*+\d)")
_NUMBERED = re.compile(r"[ \t]*+\d{1,9}[.)][ \t]")
_HEADING = re.compile(r"( {0,3})#{1,6}[ \t]++(?=\S)")
_RULE = re.compile(r" {0,3}(?:-{3,}+|\*{3,}+|={3,}+)[ \t]*+\r?\n?")
_URL = re.compile(r'https?://[^\s*`<>"]++')
_SIGN = re.compile(r"[*_`]")
_RUN = re.compile(r"\*++|_++")
_WORD = re.compile(r"\w++")
_QUOTES = "\"'\u201c\u2018\u00ab"
_BEFORE = f"([{{{_QUOTES}\u2013\u2014-:>|"
_AFTER = ".,;:!?)]}\"'\u201d\u2019\u00bb\u2013\u2014\u2026-|<"
_FIRST = frozenset(f"([`${_QUOTES}")
_CLUSTER = re.compile(
    r"(?<![*_])"
    rf"(?P<closes>(?<=[^\s\\])(?=[*_]++(?:[\s{re.escape(_AFTER)}]|\Z)))?"
    rf"(?P<opens>(?<![^\s{re.escape(_BEFORE)}])(?=[*_]++\S))?"
    r"[*_]++"
)
_LONGEST_RUN = 3


def without_markdown(text: str) -> str:
    """Return the text without emphasis, inline code marks, headings, rules and bullets.

    What may carry meaning stays: code blocks, numbers of list items, quotations, tables, links, identifiers such
    as `snake_case` and `__init__`, and signs of arithmetic.
    """
    return map_prose(text, _plain)


def _plain(prose: str) -> str:
    kept: list[str] = []
    in_list = False
    for line in lines(prose):
        if not line.strip() or (line.startswith(("    ", "\t")) and not in_list):
            kept.append(line)
            continue
        if _RULE.fullmatch(line) and ("=" not in line or (kept and not kept[-1].isspace())):
            continue
        if _ITEM.match(line) or _NUMBERED.match(line):
            in_list = True
        elif not line[0].isspace():
            in_list = False
        kept.append(_plain_inline(_plain_block(line)))
    return "".join(kept)


def _plain_block(line: str) -> str:
    item = _ITEM.match(line)
    if item:
        return item[1] + line[item.end() :]
    heading = _HEADING.match(line)
    if not heading:
        return line
    title = line[heading.end() :].rstrip()
    end = line[heading.end() + len(title) :]
    bare = title.rstrip("#")
    return heading[1] + (bare.rstrip() if bare.endswith((" ", "\t")) else title) + end


class _Mark(NamedTuple):
    """A run of one emphasis sign, and where it stands."""

    run: str
    start: int
    end: int


def _plain_inline(line: str) -> str:
    if not _SIGN.search(line):
        return line
    spans = code_spans(line)
    cuts = [cut for start, end, ticks in spans if _alone(line, start, end) for cut in _ends(line, start, end, ticks)]
    literal = Spans([(start, end) for start, end, _ in spans])
    literal = Spans([*literal.pairs, *(m.span() for m in _URL.finditer(line) if m.start() not in literal)])
    cuts += _emphasis(line, literal)
    parts, done = [], 0
    for start, end in sorted(cuts):
        parts.append(line[done:start])
        done = end
    return "".join(parts) + line[done:]


def _ends(line: str, start: int, end: int, ticks: int) -> tuple[tuple[int, int], tuple[int, int]]:
    padded = line[start + ticks] == line[end - ticks - 1] == " " and end - start > 2 * ticks + 1
    width = ticks + padded
    return (start, start + width), (end - width, end)


def _alone(line: str, start: int, end: int) -> bool:
    """Whether taking the marks off joins no words: a backtick may stand for an apostrophe."""
    return not _WORD.match(line, max(start - 1, 0), start) and not _WORD.match(line, end, end + 1)


def _emphasis(line: str, literal: Spans) -> list[tuple[int, int]]:
    cuts: list[tuple[int, int]] = []
    stack: list[_Mark] = []
    waiting: Counter[str] = Counter()
    for cluster in _CLUSTER.finditer(line):
        opens, closes = cluster["opens"] is not None, cluster["closes"] is not None
        if not (opens or closes) or cluster.start() in literal:
            continue
        after = line[cluster.end() : cluster.end() + 1]
        for run in _RUN.finditer(line, *cluster.span()):
            mark = _Mark(run[0], *run.span())
            if closes and waiting[mark.run]:
                cuts += _closed(line, mark, stack, waiting)
            elif opens and len(mark.run) <= _LONGEST_RUN and _may_open(mark.run, after):
                stack.append(mark)
                waiting[mark.run] += 1
    return cuts


def _may_open(run: str, after: str) -> bool:
    """Whether a sign may begin emphasis: `*.py` and `*, b.*` may not."""
    return len(run) > 1 or after.isalnum() or after in _FIRST


def _closed(line: str, mark: _Mark, stack: list[_Mark], waiting: Counter[str]) -> list[tuple[int, int]]:
    while True:
        opening = stack.pop()
        waiting[opening.run] -= 1
        if opening.run == mark.run:
            break
    if mark.run == "__" and _WORD.fullmatch(line, opening.end, mark.start):
        return []
    return [(opening.start, opening.end), (mark.start, mark.end)]
