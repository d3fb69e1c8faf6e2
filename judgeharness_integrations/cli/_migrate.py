"""What `judgeharness migrate` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

import typer

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._migrate_json import migration_json
from judgeharness_integrations.cli._migrate_writing import write_file
from judgeharness_integrations.cli.exits import GATE_FAILED, USAGE
from judgeharness_integrations.migration.rewriting import Level
from judgeharness_integrations.migration.rewriting.project import Migration, migrated

__all__ = ["migrate_paths"]


def migrate_paths(
    paths: Sequence[Path],
    level: str,
    *,
    exclude: Sequence[str] = (),
    write: bool = False,
    check: bool = False,
    cases: int | None = None,
    as_json: bool = False,
) -> None:
    """Print what a migration changes and costs, and write it where that is wished.

    Raises:
        UsageError: a path does not exist, the level is unknown, libcst is missing or nothing could be read.
        typer.Exit: 1 with `check` if something would change; 2 if a file could not be written.

    """
    if level not in get_args(Level):
        raise UnknownNameError("level", level, get_args(Level))
    if write and check:
        raise UsageError("--check writes nothing: leave out --check or --write.")
    migration = migrated(paths, cast("Level", level), exclude=exclude)
    if migration.unreadable and len(migration.unreadable) == migration.seen:
        raise migration.unreadable[0]
    refused = _written(migration) if write else {}
    if as_json:
        print_json(migration_json(migration, cases=cases, refused=refused, write=write))
    else:
        from judgeharness_integrations.cli._migrate_printing import print_migration  # noqa: PLC0415 - JSON needs none

        print_migration(migration, cases=cases, refused=refused, write=write)
    if refused:
        raise typer.Exit(USAGE)
    if check and migration.changed:
        raise typer.Exit(GATE_FAILED)


def _written(migration: Migration) -> dict[Path, str]:
    """Write the changed files, and return why those that were not written were not."""
    refused = {one.path: write_file(one.source, one.rewrite.after) for one in migration.changed}
    return {path: why for path, why in refused.items() if why is not None}
