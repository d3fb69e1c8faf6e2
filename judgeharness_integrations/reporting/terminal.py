"""What every command prints with: one console and one table style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from judgeharness_integrations.verdictlog.plain import safe_text

__all__ = ["RIGHT", "console", "percent", "safe", "say", "share", "table"]

RIGHT = "right, % of\ndecided\nwith gold"
"""The head of a column of accuracies, whose denominator is smaller than that of what is decided."""


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


def share(part: int, whole: int) -> str:
    """Return `89.3 of 419`: a share of a number of things, in per cent."""
    return f"{percent(part / whole if whole else None)} of {whole}"


def percent(value: float | None) -> str:
    """Return `83.1`, or `-` for what was not measured."""
    return "-" if value is None else f"{100 * value:.1f}"


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, texts: int = 1, whole: bool = False
) -> Table:
    """Return a table whose first `texts` columns are texts and whose others are numbers, which are never broken.

    Where the terminal is too narrow, texts are, unless they are to stay `whole`.
    """
    made = Table(
        title=f"\n{title}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    for place, column in enumerate(columns):
        text = place < texts
        made.add_column(column, justify="left" if text else "right", overflow="fold", no_wrap=whole or not text)
    for row in rows:
        made.add_row(*row)
    return made
