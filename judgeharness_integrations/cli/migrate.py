"""What `judgeharness migrate` writes, as JSON keeps it and as people read it."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast, get_args

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.cli._code_options import MigrateRequest
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.cli.exits import GATE_FAILED, OK, USAGE
from judgeharness_integrations.migration.rewriting import Cost, FileRewrite, Migration, cost_of, diff_of, migrated
from judgeharness_integrations.migration.rewriting.changes import Change, Level, Rewrite
from judgeharness_integrations.migration.sources import ConfigSource, Source
from judgeharness_integrations.reporting.terminal import console, safe, table
from judgeharness_integrations.verdictlog.plain import counted, safe_text


def write_file(source: Source | ConfigSource, text: str) -> str | None:
    """Put a new text in the place of the file a source was read from: all of it or nothing, in the same encoding.

    Returns:
        None, or the sentence why the file stays as it is.

    """
    path = Path(os.path.realpath(source.path))  # a link stays a link
    try:
        if path.read_bytes() != source.encoded(source.text):
            return "it has changed since it was read, so it stays as it is: run the command again."
        _replace(path, source.encoded(text))
    except UnicodeEncodeError:
        return f"its encoding {source.encoding} cannot hold the new text, so it stays as it is."
    except OSError as error:
        return f"it cannot be written ({error.strerror or error}), so it stays as it is."
    return None


def _replace(path: Path, content: bytes) -> None:
    """Write a file beside the old one, with its permissions, and let it take its place."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(path, name)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


_SCHEMA = "judgeharness.migrate/1"


def migration_json(
    migration: Migration, *, cases: int | None, refused: Mapping[Path, str], write: bool
) -> dict[str, Any]:
    """Return everything `judgeharness migrate` says.

    Args:
        migration: what was found and rewritten.
        cases: for how many cases the extra calls are multiplied out.
        refused: files that were to be written and were not, with the reason.
        write: whether files were to be written.

    """
    return {
        "schema": _SCHEMA,
        "level": migration.level,
        "files_read": migration.seen - len(migration.unreadable),
        "files": [_file(one, refused.get(one.path), write=write) for one in migration.files],
        "unreadable": [
            {"path": str(error.path), "line": error.line, "reason": str(error)} for error in migration.unreadable
        ],
        "totals": _totals([one.rewrite for one in migration.files], cases),
        "written": sorted(str(one.path) for one in migration.changed if write and one.path not in refused),
    }


def _file(one: FileRewrite, refused: str | None, *, write: bool) -> dict[str, Any]:
    rewrite = one.rewrite
    return {
        "path": str(one.path),
        "changed": rewrite.changed,
        "written": write and rewrite.changed and refused is None,
        "changes": [_change(change) for change in rewrite.changes],
        "by_hand": [asdict(found) for found in rewrite.by_hand],
        "already_harnessed": rewrite.harnessed,
        "problem": refused or rewrite.problem,
        "notes": [*rewrite.notes, *rewrite.line_notes],
        "diff": diff_of(rewrite, one.path),
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "line": change.line,
        "framework": change.framework,
        "kind": change.kind,
        "action": change.action,
        "calls_before": change.calls_before,
        "calls_after": change.calls_after,
    }


def _totals(rewrites: Iterable[Rewrite], cases: int | None) -> dict[str, Any]:
    every = list(rewrites)
    cost = cost_of(every)
    return {
        "files_changed": sum(one.changed for one in every),
        "judges_changed": cost.judges,
        "by_hand": cost.by_hand,
        "already_harnessed": cost.already,
        "calls_a_case_before": cost.before,
        "calls_a_case_after": cost.after,
        "judges_with_unknown_calls": cost.unknown,
        "cases": cases,
        "extra_calls": None if cases is None else cost.extra * cases,
    }


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
        cost = cost_of([one.rewrite])
        calls = f"{_least(cost.exact)}{cost.before} -> {cost.after}" if cost.judges else "-"
        calls += f" (+ {cost.unknown} unknown)" if cost.unknown else ""
        counts = (str(cost.judges), calls, str(cost.by_hand), str(cost.already))
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
            f"{counted(cases, 'case')}, each judged once by each of these judges: {_least(cost.exact)}"
            f"{counted(cost.before * cases, 'call')} before, {cost.after * cases:,} after, {cost.extra * cases:,} more."
        )
    if not migration.changed:
        yield "Nothing to write."
    elif write:
        done, files = len(migration.changed) - len(refused), len(migration.changed)
        yield f"{done} of {counted(files, 'file')} written."
    else:
        yield "Nothing was written; add --write."


def _summary(migration: Migration, cost: Cost) -> str:
    read = migration.seen - len(migration.unreadable)
    steps = f" ({counted(cost.steps, 'app')} to register, no judge)" if cost.steps else ""
    line = (
        f"{counted(cost.all_judges, 'judge')} in {len(migration.files)} of {counted(read, 'file')}: "
        f"{cost.judges} to change, {cost.by_hand} by hand{steps}, {cost.already} harnessed already"
    )
    if cost.already and cost.harnessed is not None:
        line += f" ({_least(cost.harnessed_exact)}{counted(cost.harnessed, 'call')} a case)"
    if cost.judges:
        line += (
            f"; those to change: {_least(cost.exact)}{counted(cost.before, 'call')} a case before, {cost.after} after"
        )
    return line + (f"; the calls of {counted(cost.unknown, 'judge')} are unknown." if cost.unknown else ".")


def _least(exact: bool) -> str:  # noqa: FBT001 - private
    return "" if exact else "at least "


def migrate_paths(request: MigrateRequest) -> int:
    """Print what a migration changes and costs, write it where that is asked for, and return the exit code.

    Raises:
        UsageError: a path does not exist, the level is unknown or nothing could be read.

    """
    if request.level not in get_args(Level):
        raise UnknownNameError("level", request.level, get_args(Level))
    if request.write and request.check:
        raise UsageError("--check writes nothing: leave out --check or --write.")
    migration = migrated(request.paths, cast("Level", request.level), exclude=request.exclude)
    if migration.unreadable and len(migration.unreadable) == migration.seen:
        raise migration.unreadable[0]
    refused = _write(migration) if request.write else {}
    if request.as_json:
        print_json(migration_json(migration, cases=request.cases, refused=refused, write=request.write))
    else:
        print_migration(migration, cases=request.cases, refused=refused, write=request.write)
    if refused:
        return USAGE
    return GATE_FAILED if request.check and migration.changed else OK


def _write(migration: Migration) -> dict[Path, str]:
    """Write the changed files, and return why those that were not written were not."""
    refused = {one.path: write_file(one.source, one.rewrite.after) for one in migration.changed}
    return {path: why for path, why in refused.items() if why is not None}
