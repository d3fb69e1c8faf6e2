"""Columns and counts as the benchmark's commands take and print them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, Protocol, TypeVar

from rich.text import Text

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.cli._agreement_printing import Row
from judgeharness_integrations.cli._names import names_in
from judgeharness_integrations.cli._printing import percent, safe

__all__ = ["SEVERAL_REASONS", "Grouped", "alike", "columns_named", "counted", "grouped", "of"]

SEVERAL_REASONS: Final = "- a pair that was rejected for several reasons stands under each of them"


class Grouped(Protocol):
    """A line of a table about pairs with one `value` in a `column`; None: about all of them."""

    @property
    def column(self) -> str | None:
        """The column."""
        ...

    @property
    def value(self) -> str:
        """The value."""
        ...


_Line = TypeVar("_Line", bound=Grouped)


def columns_named(given: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Return the columns of an option that is repeated, or takes commas between them.

    Raises:
        UnknownNameError: one of them is not known; the nearest is offered.

    """
    names = names_in(given)
    for name in names:
        if name not in known:
            raise UnknownNameError("column", name, known)
    return names


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return `1 pair`, `2 pairs`."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def alike(count: int) -> str:
    """Return how many more are like the one that is shown: `and 3 alike`."""
    return f"and {count - 1} alike" if count > 1 else ""


def of(part: int, whole: int) -> str:
    """Return `12 (30.0)`: a count, and its share of a whole in per cent."""
    return f"{part} ({percent(part / whole)})" if whole else str(part)


def grouped(lines: Sequence[_Line], cells: Callable[[_Line], Sequence[str]]) -> Iterator[Row]:
    """Yield the rows of lines, the name of each column on a row of its own above its values."""
    above: str | None = None
    for line in lines:
        told = cells(line)
        if line.column is not None and line.column != above:
            yield [safe(line.column, 40), *[""] * len(told)]
        above = line.column
        name = Text("all") if line.column is None else Text.assemble("  ", safe(line.value, 40))
        yield [name, *told]
