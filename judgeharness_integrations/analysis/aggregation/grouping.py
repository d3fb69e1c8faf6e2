"""Rows grouped by judge, criterion and case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import (
    EVERY_CRITERION,
    FIRST_ROW_ONLY,
    Verdict,
    VerdictRow,
    is_number,
)

__all__ = [
    "DEFAULT_CRITERION",
    "EVERY_CRITERION",
    "by_case",
    "by_criterion",
    "by_judge",
    "is_numeric",
    "omitted_answers",
]


DEFAULT_CRITERION = "verdict"
_ON_THE_FIRST_ROW: Mapping[str, Any] = dict.fromkeys(FIRST_ROW_ONLY)


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

    Rows that failed for every criterion are in each group, and so are `omitted_answers`.
    """
    rows, declared = list(rows), tuple(declared)
    groups: dict[str, list[VerdictRow]] = {name: [] for name in declared}
    groups |= _grouped(rows, "criterion")
    shared = groups.pop(EVERY_CRITERION, [])
    if shared:
        groups = {
            name: [*groups.get(name, ()), *(replace(row, criterion=name) for row in shared)]
            for name in (groups or [DEFAULT_CRITERION])
        }
    if len(groups) > 1:
        for row in omitted_answers(rows, declared):
            groups[row.criterion].append(row)
    return groups


def omitted_answers(rows: Iterable[VerdictRow], declared: Sequence[str] = ()) -> Iterator[VerdictRow]:
    """Yield an unparsed row for every call that answered about a case but left out one of its criteria.

    The criteria of a case are those its rows name, and the `declared` ones. Where answers about several criteria stand
    in one place (perturbation and repetition) without a `call_id`, each was a call of its own and nothing is left out.
    """
    cases: dict[tuple[str, str, str], list[VerdictRow]] = {}
    for row in rows:
        cases.setdefault((row.run, row.judge, row.case_id), []).append(row)
    for group in cases.values():
        yield from _omitted(group, declared)


def _omitted(rows: Sequence[VerdictRow], declared: Sequence[str]) -> Iterator[VerdictRow]:
    """Yield the omitted answers of one case."""
    names = dict.fromkeys([*declared, *(row.criterion for row in rows)])
    names.pop(EVERY_CRITERION, None)
    if len(names) == 1:
        return
    calls: dict[tuple[str, int], dict[str, VerdictRow]] = {}
    for row in rows:
        calls.setdefault((row.perturbation, row.repetition), {})[row.criterion] = row
    if any(len(call) > 1 and any(row.call_id is None for row in call.values()) for call in calls.values()):
        return
    golds = {row.criterion: row.gold for row in rows if row.gold is not None}
    for call in calls.values():
        if EVERY_CRITERION not in call:
            row = next(reversed(call.values()))
            yield from (_unanswered(row, name, golds.get(name)) for name in names if name not in call)


def _unanswered(row: VerdictRow, criterion: str, gold: Verdict | None) -> VerdictRow:
    """Return what a call says about a criterion that its row, of another one, left out; the call's cost stays there."""
    return replace(
        row,
        criterion=criterion,
        verdict=None,
        outcome="unparsed",
        gold=gold,
        reasoning=None,
        **_ON_THE_FIRST_ROW,
    )


def is_numeric(rows: Sequence[VerdictRow], verdicts: Iterable[Verdict | None] | None = None) -> bool | None:
    """Whether the verdicts of one criterion are scores; None without any verdict.

    Args:
        rows: of one criterion.
        verdicts: the different ones among theirs, for who has them already.

    Raises:
        UsageError: labels and numbers are mixed.

    """
    given = {row.verdict for row in rows} if verdicts is None else verdicts
    kinds = {is_number(verdict) for verdict in given if verdict is not None}
    if len(kinds) > 1:
        example = next(row for row in rows if row.ok)
        raise UsageError(
            f"criterion {example.criterion!r} of judge {example.judge!r} mixes labels and numbers "
            f"(case {example.case_id!r}): use one kind, or read a log with labels=True."
        )
    return kinds.pop() if kinds else None
