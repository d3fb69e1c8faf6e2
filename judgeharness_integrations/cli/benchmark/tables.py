"""Columns and counts as the commands of a benchmark take and print them, and calls that failed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, Protocol, TypeVar

from rich.text import Text

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.ranking.correctness import Failures
from judgeharness_integrations.benchmark.results.judgments import Mode
from judgeharness_integrations.benchmark.verdicts import Results
from judgeharness_integrations.cli._shared_options import names_in
from judgeharness_integrations.reporting.terminal import Row, console, safe
from judgeharness_integrations.verdictlog.plain import counted, percent

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


_LONGEST = 600
_AGAIN = "judgeharness benchmark judge asks again"


def _policy(failures: Failures) -> str:
    """Return what a failed, an unread and an undecided answer is."""
    if failures == "missing":
        return "failed calls, unparsed and refused answers are missing; undecided answers are wrong"
    return "failed calls are missing; unparsed, refused and undecided answers are wrong"


def failed_notes(results: Results, mode: Mode, judges: Sequence[str] = ()) -> Iterator[str]:
    """Yield a sentence for each judge, of some where any are named, whose calls failed: what that means, what to do."""
    failed: dict[str, int] = {}
    for judge, _ in results.failed.get(mode, ()):
        failed[judge] = failed.get(judge, 0) + 1
    answered = _answered(results, mode)
    for judge, count in sorted(failed.items()):
        if judges and judge not in judges:
            continue
        if judge in answered:
            yield f"{judge}: calls about {counted(count, 'pair')} failed and are missing; {_AGAIN}"
        else:
            yield f"{judge} is left out: none of its calls, about {counted(count, 'pair')}, was answered; {_AGAIN}"


def print_failed(
    results: Sequence[Results], mode: Mode, *, failures: Failures, judges: Sequence[str] = (), stderr: bool = False
) -> None:
    """Print whose calls failed, in one benchmark or several, and what a failed call is; nothing where none did."""
    lines = [(one.folder, line) for one in results for line in failed_notes(one, mode, judges)]
    screen = console(stderr=stderr)
    for where, line in lines:
        screen.print(safe(f"- {where}: {line}" if len(results) > 1 else f"- {line}", _LONGEST), soft_wrap=True)
    if lines:
        screen.print(f"- {_policy(failures)}", soft_wrap=True)


def check_answered(results: Results, mode: Mode, judges: Sequence[str]) -> None:
    """Refuse judges that were named and never answered.

    Raises:
        UsageError: no call of a judge was answered.

    """
    silent = {judge for judge, _ in results.failed.get(mode, ())} - _answered(results, mode)
    for judge in judges:
        if judge in silent:
            raise UsageError(f"no call of {judge} was answered: ask it again with judgeharness benchmark judge.")


def _answered(results: Results, mode: Mode) -> set[str]:
    return {row.judge for row in results.rows[mode]}
