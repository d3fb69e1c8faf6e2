"""Sections as GitHub's Markdown, for summaries of jobs and comments on pull requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from judgeharness_integrations.reporting.sections import LONGEST_CELL, Bullets, Section, Strong, Table
from judgeharness_integrations.verdictlog.plain import SENTENCE, safe_text

# What GitHub looks for in a text after Markdown was read, where an escaped character is a plain one again. A space
# without a width behind it keeps mentions, references to issues, names of emoji, addresses and mail from being linked.
_LOOKED_FOR: Final = re.compile(r"(@|#|\bGH-|:|www\.)(?=\S)", re.IGNORECASE)
_NO_WIDTH: Final = "\u200b"
_ENTITIES: Final = {ord(one): f"&#{ord(one)};" for one in _NO_WIDTH + "\\`*_{}[]()~|$!^=&<>\"'"}
_AT_START: Final = re.compile(r"[-+#]|\d+(?=[.)])")  # a list or heading, where the text begins a line


def escaped(text: str, limit: int = 120, *, cell: bool = False) -> str:
    """Return a text on one line that stands for itself: no markup, link, image, mention or cell of its own.

    In a `cell` of a table no list or heading can begin.
    """
    shown = _LOOKED_FOR.sub(rf"\1{_NO_WIDTH}", safe_text(text, limit))
    start = found[0] if not cell and (found := _AT_START.match(shown)) else ""
    return "".join(f"&#{ord(one)};" for one in start) + shown[len(start) :].translate(_ENTITIES)


def table(columns: Iterable[str], rows: Iterable[Iterable[str]], *, texts: int = 1) -> list[str]:
    """Return the lines of a table of cells that were escaped; the first `texts` columns are texts, the others right."""
    heads = list(columns)
    marks = [":---" if place < texts else "---:" for place in range(len(heads))]
    return [f"| {' | '.join(cells)} |" for cells in (heads, marks, *rows)]


def details(title: str, lines: Iterable[str]) -> list[str]:
    """Return lines that are folded away under a title, which was escaped."""
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>", ""]


_EXAMPLES: Final = 20


def section_markdown(section: Section, *, every: bool = False, depth: int = 2) -> str:
    """Return a section with its title as heading; texts of judges and cases in it mean nothing to GitHub.

    Args:
        section: what to show.
        every: show all examples, not the first twenty of each table.
        depth: of its heading.

    """
    heading = f"{'#' * depth} {escaped(section.title, SENTENCE)}"
    return "\n".join([heading, "", *_blocks(section, depth + 1, every=every)])


def _blocks(section: Section, depth: int, *, every: bool) -> Iterator[str]:
    for block in section.blocks:
        if isinstance(block, Section):
            inner, title = _blocks(block, depth + 1, every=every), escaped(block.title, SENTENCE)
            yield from details(title, inner) if block.folded else (f"{'#' * depth} {title}", "", *inner)
        elif isinstance(block, Table):
            yield from _table(block, None if every else _EXAMPLES)
        else:
            lines, mark = (block.lines, "- ") if isinstance(block, Bullets) else ((block,), "")
            yield from (*(mark + _sentence(line) for line in lines), "")


def _table(block: Table, most: int | None) -> Iterator[str]:
    shown, left = block.first(most)
    if block.title:
        yield f"{escaped(block.title, LONGEST_CELL)}:"
        yield ""
    yield from table(map(_cell, block.heads), (map(_cell, row) for row in shown), texts=block.texts)
    yield ""
    if left:
        yield f"and {left:,} more"
        yield ""


def _sentence(text: str) -> str:
    shown = escaped(text, SENTENCE)
    return f"**{shown}**" if isinstance(text, Strong) else shown


def _cell(text: str) -> str:
    shown = "<br>".join(escaped(line, LONGEST_CELL, cell=True) for line in text.split("\n"))
    return f"**{shown}**" if isinstance(text, Strong) else shown
