"""Rows grouped the way every report reads them: by judge, criterion and case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, VerdictRow, is_number

__all__ = ["DEFAULT_CRITERION", "EVERY_CRITERION", "by_case", "by_criterion", "by_judge", "is_numeric"]

DEFAULT_CRITERION = "verdict"


def _grouped(rows: Iterable[VerdictRow], field: str) -> dict[str, list[VerdictRow]]:
    groups: dict[str, list[VerdictRow]] = {}
    for row in rows:
        groups.setdefault(getattr(row, field), []).append(row)
    return groups


def by_judge(rows: Iterable[VerdictRow]) -> dict[str, list[VerdictRow]]:
    """Return judge -> rows, in order of first appearance."""
    return _grouped(rows, "judge")


def by_case(rows: Iterable[VerdictRow]) -> dict[tuple[str, str], list[VerdictRow]]:
    """Return (run, case) -> rows, in order of first appearance."""
    groups: dict[tuple[str, str], list[VerdictRow]] = {}
    for row in rows:
        groups.setdefault((row.run, row.case_id), []).append(row)
    return groups


def by_criterion(rows: Iterable[VerdictRow], declared: Iterable[str] = ()) -> dict[str, list[VerdictRow]]:
    """Return criterion -> rows of one judge, `declared` ones first, also without rows.

    Rows that failed for every criterion are in each group.
    """
    groups: dict[str, list[VerdictRow]] = {name: [] for name in declared}
    groups |= _grouped(rows, "criterion")
    shared = groups.pop(EVERY_CRITERION, [])
    if not shared:
        return groups
    return {
        name: [*groups.get(name, ()), *(replace(row, criterion=name) for row in shared)]
        for name in (groups or [DEFAULT_CRITERION])
    }


def is_numeric(rows: Sequence[VerdictRow]) -> bool | None:
    """Whether the verdicts of one criterion are scores; None without any verdict.

    Raises:
        UsageError: labels and numbers are mixed.

    """
    kinds = {is_number(verdict) for verdict in {row.verdict for row in rows} if verdict is not None}
    if len(kinds) > 1:
        example = next(row for row in rows if row.ok)
        raise UsageError(
            f"criterion {example.criterion!r} of judge {example.judge!r} mixes labels and numbers "
            f"(case {example.case_id!r}): use one kind, or read a log with labels=True."
        )
    return kinds.pop() if kinds else None
