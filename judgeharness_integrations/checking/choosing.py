"""Which judge, run and criteria of a log are checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.aggregation.grouping import by_criterion, by_judge
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, VerdictRow

__all__ = ["chosen_criteria", "chosen_judge"]


def chosen_judge(rows: Iterable[VerdictRow], judge: str | None) -> tuple[str, list[VerdictRow]]:
    """Return the judge to be checked and its rows.

    Raises:
        UsageError: there are several judges and none was named, there are no rows, or cases stand in several runs.
        UnknownNameError: there is no judge of that name.

    """
    groups = by_judge(rows)
    if not groups:
        raise UsageError("there are no rows to check.")
    if judge is None:
        if len(groups) > 1:
            raise UsageError(f"the log holds {len(groups)} judges ({_names(groups)}): choose one with --judge.")
        judge = next(iter(groups))
    if judge not in groups:
        raise UnknownNameError("judge", judge, groups)
    _check_runs(groups[judge])
    return judge, groups[judge]


def _check_runs(rows: Sequence[VerdictRow]) -> None:
    """Refuse a case of two runs: it would count twice, and its repetitions could not be told apart."""
    runs: dict[str, str] = {}
    for row in rows:
        if runs.setdefault(row.case_id, row.run) != row.run:
            names = {row.run for row in rows}
            raise UsageError(
                f"the log holds {len(names)} runs of the same cases ({_names(names)}): choose one with --run."
            )


def _names(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in sorted(names))


def chosen_criteria(rows: Sequence[VerdictRow], criteria: Sequence[str] | None) -> dict[str, list[VerdictRow]]:
    """Return criterion -> rows, in the order they were asked for, else by name.

    Raises:
        UnknownNameError: there is no criterion of that name.

    """
    if criteria is None:
        return dict(sorted(by_criterion(rows).items()))
    known = {row.criterion for row in rows} - {EVERY_CRITERION}
    for name in criteria:
        if known and name not in known:
            raise UnknownNameError("criterion", name, known)
    groups = by_criterion(rows, criteria)
    return {name: groups[name] for name in criteria}
