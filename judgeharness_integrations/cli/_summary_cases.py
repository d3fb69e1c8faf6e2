"""The rows behind a summary, a few hundred cases at a time: every planned case once, whether or not it has rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol, TypeAlias

from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["CaseLog", "ListedRows", "Planned", "planned_rows"]

_CASES_AT_ONCE = 256

# case id -> samples, or what yields such pairs anew each time, for plans that are not to be held in memory
Planned: TypeAlias = "Mapping[str, int] | Callable[[], Iterable[tuple[str, int]]]"


class CaseLog(Protocol):
    """A log that finds the rows of cases, such as `SqlLog`."""

    def of_cases(self, *, run: str, judge: str, case_ids: Sequence[str]) -> Mapping[str, Sequence[VerdictRow]]:
        """Return case id -> its rows; cases without rows may be missing."""
        ...

    def case_groups(self, *, run: str, judge: str | None = None) -> Iterator[Sequence[VerdictRow]]:
        """Yield the rows of a run, a case at a time."""
        ...


class ListedRows:
    """Rows in memory, as a `CaseLog`."""

    def __init__(self, rows: Iterable[VerdictRow]) -> None:
        """Group the rows."""
        self._rows: dict[tuple[str, str, str], list[VerdictRow]] = {}
        for row in rows:
            self._rows.setdefault((row.run, row.judge, row.case_id), []).append(row)

    def of_cases(self, *, run: str, judge: str, case_ids: Sequence[str]) -> Mapping[str, Sequence[VerdictRow]]:
        """Return case id -> its rows."""
        return {case_id: self._rows.get((run, judge, case_id), ()) for case_id in case_ids}

    def case_groups(self, *, run: str, judge: str | None = None) -> Iterator[Sequence[VerdictRow]]:
        """Yield the rows of a run, a case at a time."""
        return (rows for (its, who, _), rows in self._rows.items() if its == run and judge in (None, who))


def planned_rows(log: CaseLog, planned: Planned, *, run: str, judge: str) -> Iterator[tuple[int, Sequence[VerdictRow]]]:
    """Yield (samples planned, rows) of every planned case, in the order of the plan."""
    plan = iter(planned() if callable(planned) else planned.items())
    while chunk := dict(islice(plan, _CASES_AT_ONCE)):
        found = log.of_cases(run=run, judge=judge, case_ids=list(chunk))
        for case_id, samples in chunk.items():
            yield samples, found.get(case_id, ())
