"""What both commands of agreement print with: titles on lines of their own, numbers, intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rich.console import Group, RenderableType
from rich.text import Text

from judgeharness_integrations.cli._printing import table

__all__ = ["Limits", "Row", "limits", "number", "titled"]

Row: TypeAlias = "list[str | Text]"
Limits: TypeAlias = "tuple[float, float] | None"


def titled(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, texts: int = 1
) -> RenderableType:
    """Return a table under its title, which a narrow table does not break."""
    made = table(title, columns, rows, texts=texts)
    made.title = None
    return Group(Text(f"\n{title}", style="bold"), made)


def number(value: float | None, digits: int = 3) -> str:
    """Return `0.123`, `-` for what was not measured, and never a zero with a minus."""
    return "-" if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def limits(interval: Limits, digits: int = 3) -> str:
    """Return `0.050 to 0.130`."""
    return "-" if interval is None else " to ".join(number(limit, digits) for limit in interval)
