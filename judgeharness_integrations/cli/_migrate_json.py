"""A migration as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from judgeharness_integrations.migration.rewriting.costing import cost_of
from judgeharness_integrations.migration.rewriting.differing import diff_of
from judgeharness_integrations.migration.rewriting.outcome import Change, Rewrite
from judgeharness_integrations.migration.rewriting.project import FileRewrite, Migration

__all__ = ["migration_json"]

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
        "by_hand": sum(len(one.by_hand) for one in every),
        "already_harnessed": sum(one.harnessed for one in every),
        "calls_a_case_before": cost.before,
        "calls_a_case_after": cost.after,
        "judges_with_unknown_calls": cost.unknown,
        "cases": cases,
        "extra_calls": None if cases is None else cost.extra * cases,
    }
