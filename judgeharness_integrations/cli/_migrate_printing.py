"""What `judgeharness migrate` prints: the diff, what it costs, and what is left to do by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judgeharness_integrations.cli._printing import console, safe, table
from judgeharness_integrations.migration.rewriting.costing import Cost, cost_of
from judgeharness_integrations.migration.rewriting.differing import diff_of
from judgeharness_integrations.migration.rewriting.project import REGISTER, Migration
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["print_migration"]

_STYLES = {"+": "green", "-": "red", "@": "cyan", "#": "yellow"}
_LONGEST = 400
_NUMBERS = 52  # what the other columns of the table take
_WIDTH = 200  # of a pipe, where no path need be broken


def print_migration(migration: Migration, *, cases: int | None, refused: Mapping[Path, str], write: bool) -> None:
    """Print a migration; see `migration_json` for the arguments."""
    screen = console()
    if not screen.is_terminal:
        screen.width = _WIDTH
    for one in migration.changed:
        _print_diff(screen, diff_of(one.rewrite, one.path))
    cost = cost_of(one.rewrite for one in migration.files)
    if migration.files:
        screen.print(_costs(migration, screen.width - _NUMBERS))
    sentences = _sentences(migration, cost, cases, refused, write=write)
    for line in (*_by_hand(migration), *sentences):
        screen.print(safe(line, 2 * _LONGEST), soft_wrap=True)


def _print_diff(screen: Console, diff: str) -> None:
    """Print a diff as it is into a pipe; on a terminal in colours, without what could steer it."""
    if not screen.is_terminal:
        screen.file.write(diff)
        return
    for line in diff.splitlines():
        shown = "".join(sign if sign.isprintable() or sign == "\t" else "\N{REPLACEMENT CHARACTER}" for sign in line)
        bold = line.startswith(("+++", "---"))
        screen.print(Text(shown, style="bold" if bold else _STYLES.get(line[:1], "")), soft_wrap=True)


def _costs(migration: Migration, width: int) -> Table:
    rows: list[list[str | Text]] = []
    for one in migration.files:
        rewrite = one.rewrite
        cost = cost_of([rewrite])
        calls = f"{_least(cost.exact)}{cost.before} -> {cost.after}" if cost.judges else "-"
        calls += f" (+ {cost.unknown} unknown)" if cost.unknown else ""
        counts = (str(cost.judges), calls, str(len(rewrite.by_hand)), str(rewrite.harnessed))
        rows.append([_path(one.path, width), *counts])
    columns = ("file", "judges", "calls a case", "by hand", "harnessed")
    return table(f"level {migration.level}: judges, and the calls they make about one case", columns, rows)


def _path(path: Path, width: int) -> Text:
    """Return a path in lines that end at its folders."""
    lines = [""]
    for part in re.findall(r"[^/]*/|[^/]+", safe_text(str(path), _LONGEST)):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return Text("\n".join(lines))


def _by_hand(migration: Migration) -> Iterator[str]:
    for one in migration.files:
        for found in one.rewrite.by_hand:
            yield f"by hand: {one.path}:{found.line} {found.kind}: {found.why}: {found.todo}."
        in_no_diff = () if one.rewrite.changed else one.rewrite.line_notes
        for note in (*one.rewrite.notes, *in_no_diff):
            yield f"note: {one.path}: {note}"


def _sentences(
    migration: Migration, cost: Cost, cases: int | None, refused: Mapping[Path, str], *, write: bool
) -> Iterator[str]:
    for one in migration.files:
        if one.rewrite.problem is not None:
            yield f"not rewritten: {one.path}: {one.rewrite.problem}"
    for path, why in refused.items():
        yield f"not written: {path}: {why}"
    for error in migration.unreadable:
        yield f"not read: {error}"
    yield _summary(migration, cost)
    if cases is not None:
        yield (
            f"{_counted(cases, 'case')}, each judged once by each of these judges: {_least(cost.exact)}"
            f"{_counted(cost.before * cases, 'call')} before, {cost.after * cases} after, {cost.extra * cases} more."
        )
    if not migration.changed:
        yield "Nothing to write."
    elif write:
        done, files = len(migration.changed) - len(refused), len(migration.changed)
        yield f"{done} of {_counted(files, 'file')} written."
    else:
        yield "Nothing was written; add --write."


def _summary(migration: Migration, cost: Cost) -> str:
    left = [found for one in migration.files for found in one.rewrite.by_hand]
    hand = sum(one.kind != REGISTER for one in left)
    done = sum(one.rewrite.harnessed for one in migration.files)
    read = migration.seen - len(migration.unreadable)
    judges = _counted(cost.judges + hand + done, "judge")
    line = f"{judges} in {len(migration.files)} of {_counted(read, 'file')}: {cost.judges} to change, {hand} by hand, "
    line += f"{done} harnessed already"
    if done and cost.harnessed is not None:
        line += f" ({_least(cost.harnessed_exact)}{_counted(cost.harnessed, 'call')} a case)"
    if cost.judges:
        line += (
            f"; those to change: {_least(cost.exact)}{_counted(cost.before, 'call')} a case before, {cost.after} after"
        )
    return line + (f"; the calls of {_counted(cost.unknown, 'judge')} are unknown." if cost.unknown else ".")


def _least(exact: bool) -> str:  # noqa: FBT001 - private
    return "" if exact else "at least "


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
