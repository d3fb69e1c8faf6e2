"""What every command prints with: one console, one table style, and sections."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Final, TypeAlias

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from judgeharness_integrations.reporting.sections import LONGEST_CELL, Bullets, Section, Strong
from judgeharness_integrations.reporting.sections import Table as TableBlock
from judgeharness_integrations.verdictlog.plain import SENTENCE, safe_text

__all__ = ["Row", "console", "safe", "say", "section_lines", "show_section", "table"]

Row: TypeAlias = "Sequence[str | Text]"


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave a closed pipe to `main`; rich would end the process with the exit code of a failed gate."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints texts as they are: no markup, no highlighting, no colour codes in a pipe."""
    return _Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def safe(text: str, limit: int = 60) -> Text:
    """Return a text of a judge or a file as one line that cannot steer the terminal."""
    return Text(safe_text(text, limit))


def say(screen: Console, text: str) -> None:
    """Print a sentence: broken between words at a terminal, whole in a pipe, where lines are searched."""
    screen.print(Text(text), soft_wrap=not screen.is_terminal)


class _Titled(Table):
    """A table under a title that narrow columns do not break."""

    heading = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.heading:
            yield Text(f"\n{self.heading}", "bold")
        yield from super().__rich_console__(console, options)


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, texts: int = 1, whole: bool = False
) -> Table:
    """Return a table under its title; the first `texts` columns are texts, the others numbers, which are never broken.

    Where the terminal is too narrow, texts are, unless they are to stay `whole`.
    """
    made = _Titled(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    made.heading = title
    for place, column in enumerate(columns):
        text = place < texts
        made.add_column(column, justify="left" if text else "right", overflow="fold", no_wrap=whole or not text)
    for row in rows:
        made.add_row(*row)
    return made


_EXAMPLES: Final = 10
_LINES_WIDTH: Final = 160


def show_section(section: Section, screen: Console, *, every: bool = False) -> None:
    """Print a section; `every`: with what is folded, and all examples."""
    if section.title:
        _show_line(Strong(section.title), screen)
    _show_blocks(section, screen, every=every)


def section_lines(section: Section, *, width: int = _LINES_WIDTH) -> list[str]:
    """Return the whole section as lines of text; tables are as wide as `width` characters."""
    screen = _Console(file=StringIO(), width=width, color_system=None, markup=False, highlight=False, emoji=False)
    with screen.capture() as shown:
        show_section(section, screen, every=True)
    return [line.rstrip() for line in shown.get().splitlines()]


def _show_blocks(section: Section, screen: Console, *, every: bool) -> None:
    for block in section.blocks:
        if isinstance(block, Section):
            if every or not block.folded:
                screen.print()
                show_section(block, screen, every=every)
        elif isinstance(block, TableBlock):
            _show_table(block, screen, None if every else _EXAMPLES)
        elif isinstance(block, Bullets):
            for line in block.lines:
                _show_line(line, screen, bullet="- ")
        else:
            _show_line(block, screen)
    if not every and any(isinstance(block, Section) and block.folded for block in section.blocks):
        screen.print("\nmore: --all, or --json")


def _show_line(text: str, screen: Console, *, bullet: str = "") -> None:
    """Print a sentence, broken under its bullet at a terminal, whole in a pipe, where lines are searched."""
    shown = bullet + safe_text(text, SENTENCE)
    if screen.is_terminal:
        shown = textwrap.fill(shown, screen.width, subsequent_indent=" " * len(bullet), break_on_hyphens=False)
    screen.print(Text(shown, _style(text)), soft_wrap=True)


def _show_table(block: TableBlock, screen: Console, most: int | None) -> None:
    shown, left = block.first(most)
    rows = ([Text(_lines(cell), _style(cell)) for cell in row] for row in shown)
    screen.print(table(safe_text(block.title), [_lines(name) for name in block.columns], rows, texts=block.texts))
    if left:
        screen.print(f"and {left:,} more: --all lists them")


def _lines(cell: str) -> str:
    return "\n".join(safe_text(line, LONGEST_CELL) for line in cell.split("\n"))


def _style(text: str) -> str:
    return "bold" if isinstance(text, Strong) else ""
