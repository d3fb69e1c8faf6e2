"""What every command prints with: one console, one table style, and sections."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import Final, TypeAlias

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from judgeharness_integrations.verdictlog.encoding import SENTENCE, safe_text

from .sections import LONGEST_CELL, Bullets, Section, Strong, on_one_line
from .sections import Table as TableBlock

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


def say(screen: Console, text: str, *, bullet: str = "", style: str = "") -> None:
    """Print a sentence: broken between words at a terminal, whole in a pipe, where lines are searched.

    What is broken stays under its bullet and its indentation.
    """
    shown = bullet + text
    if screen.is_terminal:
        indent = " " * (len(bullet) + len(text) - len(text.lstrip()))
        shown = textwrap.fill(
            shown, screen.width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
        )  # a path is copied whole
    screen.print(Text(shown, style), soft_wrap=True)


_NAME: Final = "\ue000"  # where the numbers of a name begin, while they are laid out
_NAME_LINES: Final = 2  # of a name that is folded beside its numbers
_FOLDS: Final = re.compile(r"(?<=[/_:@-])(?=\w)|(?<= )(?=·)|(?<=[^·] )(?=[^· ])")
_WIDEST: Final = 10_000  # characters: no terminal has as many


class _Titled(Table):
    """A table under a title that narrow columns do not break.

    Names of rows that do not fit beside their numbers are folded where their parts meet, or stand above them.
    """

    heading = ""
    head: Sequence[str] = ()
    body: Sequence[Row] = ()
    texts = 1

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.heading:
            yield Text(f"\n{self.heading}", "bold")
        room = self._room(console, options)
        if room is None:
            yield from super().__rich_console__(console, options)
        elif None in (folded := [_folded(str(row[0]), room, most=_NAME_LINES) for row in self.body]):
            yield from self._below_names(console, options)
        else:
            names = (Text(name or "", _style_of(row[0])) for name, row in zip(folded, self.body, strict=True))
            body = [(name, *row[1:]) for name, row in zip(names, self.body, strict=True)]
            yield _grid(self.head, body, texts=1)

    def _room(self, console: Console, options: ConsoleOptions) -> int | None:
        """Return how many characters are left for the names; None where they fit, or are no names of rows."""
        if self.texts != 1 or not self.body or self.columns[0].no_wrap:
            return None
        whole = Measurement.get(console, options.update_width(_WIDEST), self).maximum
        longest = max(
            len(line) for name in (self.head[0], *(row[0] for row in self.body)) for line in str(name).split("\n")
        )
        return None if whole <= options.max_width else options.max_width - (whole - longest)

    def _below_names(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield every name on lines of its own above its numbers, which are a line each where they are too wide."""
        grid = _grid(self.head, [(_NAME, *row[1:]) for row in self.body], texts=1)
        if Measurement.get(console, options.update_width(_WIDEST), grid).maximum > options.max_width:
            yield from self._records(options.max_width)
            return
        names = iter(self.body)
        for line in console.render_lines(grid, options, pad=False):
            if "".join(segment.text for segment in line).startswith(_NAME):
                yield _name_lines(next(names)[0], options.max_width)
            yield from (Segment(segment.text.replace(_NAME, " "), segment.style) for segment in line)
            yield Segment.line()

    def _records(self, width: int) -> Iterator[Text]:
        for row in self.body:
            yield _name_lines(row[0], width)
            for head, cell in zip(self.head[1:], row[1:], strict=True):
                yield Text(f"  {on_one_line(head)}: {' '.join(str(cell).split())}", _style_of(cell))


def _name_lines(name: str | Text, width: int) -> Text:
    return Text(_folded(str(name), width) or "", _style_of(name))


def _style_of(cell: str | Text) -> str | Style:
    return cell.style if isinstance(cell, Text) else ""


def _folded(name: str, room: int, *, most: int | None = None) -> str | None:
    """Return a name in lines of at most so many characters, broken where its parts meet.

    None where that takes more than `most` lines, or a part of it would have to be broken; without `most` it is.
    """
    lines = [""]
    for part in (part for whole in name.split("\n") for part in [*_FOLDS.split(whole), "\n"]):
        if part == "\n":
            lines.append("")
        elif len(lines[-1]) + len(part.rstrip()) <= room:
            lines[-1] += part
        elif most is not None and len(part.rstrip()) > room:
            return None
        else:
            lines += [part[start : start + room] for start in range(0, len(part), room)]
    shown = [line.rstrip() for line in lines if line.strip()]
    return None if most is not None and len(shown) > most else "\n".join(shown)


def table(title: str, columns: Sequence[str], rows: Iterable[Row], *, texts: int = 1, whole: bool = False) -> Table:
    """Return a table under its title; the first `texts` columns are texts, the others numbers, which are never broken.

    Where the terminal is too narrow, texts are, unless they are to stay `whole`.
    """
    body = list(rows)
    made = _grid(columns, body, texts=texts, whole=whole)
    made.heading, made.head, made.body, made.texts = title, columns, body, texts
    return made


def _grid(columns: Sequence[str], rows: Iterable[Row], *, texts: int, whole: bool = False) -> _Titled:
    made = _Titled(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
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
    _show(section, screen, every=every)
    if not every and _folds(section):
        screen.print("\nmore: --all, or --json")


def _show(section: Section, screen: Console, *, every: bool) -> None:
    if section.title:
        _show_line(Strong(section.title), screen)
    _show_blocks(section, screen, every=every)


def _folds(section: Section) -> bool:
    """Whether anything in it is folded."""
    return any(block.folded or _folds(block) for block in section.blocks if isinstance(block, Section))


def section_lines(section: Section, *, width: int = _LINES_WIDTH) -> list[str]:
    """Return the whole section as lines of text; tables are as wide as `width` characters."""
    screen = _Console(file=StringIO(), width=width, color_system=None, markup=False, highlight=False, emoji=False)
    with screen.capture() as shown:
        show_section(section, screen, every=True)
    return [line.rstrip() for line in shown.get().splitlines()]


def _show_blocks(section: Section, screen: Console, *, every: bool) -> None:
    apart = False
    for block in section.blocks:
        if apart and not isinstance(block, Section | TableBlock):
            screen.print()
        apart = isinstance(block, TableBlock) or (isinstance(block, Section) and (every or not block.folded))
        if isinstance(block, Section):
            if apart:
                screen.print()
                _show(block, screen, every=every)
        elif isinstance(block, TableBlock):
            _show_table(block, screen, None if every else _EXAMPLES)
        elif isinstance(block, Bullets):
            for line in block.lines:
                _show_line(line, screen, bullet="- ")
        else:
            _show_line(block, screen)


def _show_line(text: str, screen: Console, *, bullet: str = "") -> None:
    say(screen, safe_text(text, SENTENCE), bullet=bullet, style=_style(text))


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
