"""A report as sections of sentences and tables: written once, shown at a terminal, as Markdown and in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

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
