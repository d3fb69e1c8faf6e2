"""A report as sections of sentences and tables: written once, shown at a terminal, as Markdown and in a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from judgeharness_integrations.verdictlog.encoding import SENTENCE, safe_text

LONGEST_CELL: Final = 200  # characters of each line of a cell


class Strong(str):
    """A text that stands out."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Bullets:
    """Sentences of equal weight."""

    lines: tuple[str, ...]


def on_one_line(head: str) -> str:
    """Return the head of a column without the breaks of a narrow table: `ab-` and `stained` are one word."""
    return head.replace("-\n", "").replace("\n", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells; the first `texts` columns are texts, the others numbers.

    A line break in a cell is shown as one; in a head it is where a narrow table may break. `examples`: each row stands
    for itself, so that the first rows will do where there are many; all rows of other tables are shown. `left` counts
    rows that were left out already.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int = 1
    examples: bool = False
    left: int = 0

    @classmethod
    def of(
        cls,
        title: str,
        columns: Iterable[str],
        rows: Iterable[Iterable[str]],
        *,
        texts: int = 1,
        examples: bool = False,
        left: int = 0,
    ) -> Table:
        """Return a table of rows that come one by one."""
        body = tuple(map(tuple, rows))
        return cls(title=title, columns=tuple(columns), rows=body, texts=texts, examples=examples, left=left)

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads on one line each."""
        return tuple(map(on_one_line, self.columns))

    def first(self, examples: int | None, rows: int | None = None) -> tuple[tuple[tuple[str, ...], ...], int]:
        """Return the rows to show of at most so many examples, or other rows, and how many are left out."""
        shown = self.rows[: examples if self.examples else rows]
        return shown, len(self.rows) - len(shown) + self.left


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Blocks under a title; a `folded` one is opened by those who ask for more.

    Texts are as judges, files and people wrote them: what shows them makes them safe.
    """

    title: str
    blocks: tuple[Block, ...]
    folded: bool = False


Block: TypeAlias = "str | Bullets | Table | Section"  # a str is a sentence of its own


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


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The answer in one sentence, why, and the command that comes next; empty where none is known."""

    answer: str
    reasons: tuple[str, ...] = ()
    next: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        return {"answer": self.answer, "reasons": list(self.reasons), "next": self.next or None}

    def opening(self) -> Iterator[Block]:
        """Yield what stands below the answer."""
        if self.reasons:
            yield Bullets(self.reasons)
        if self.next:
            yield f"next: {self.next}"
