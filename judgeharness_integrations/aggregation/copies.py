"""Cases that ask what another case asks: told apart by their ids alone, they are no independent evidence."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

from judgeharness_integrations.aggregation.grouping import CLUSTER, named_cluster
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["CopiedCases", "copied_cases"]

_MOST: Final = 100_000  # cases that are remembered; a copy of a later one is not seen


class CopiedCases:
    """Counts cases that ask what another one asks.

    Those in one named cluster are known to belong together and do not count.
    """

    def __init__(self, column: str = CLUSTER) -> None:
        """Start without cases; `column` names clusters."""
        self._column = column
        self.cases = self.copies = 0
        self._first: dict[Hashable, tuple[str, str | None]] = {}

    def add(self, case_id: str, asked: Hashable | None, cluster: str | None) -> None:
        """Count a case by a digest of what it asks; where that is not known, None, it is no copy."""
        self.cases += 1
        if asked is None:
            return
        if asked not in self._first and len(self._first) < _MOST:
            self._first[asked] = case_id, cluster
        first, together = self._first.get(asked, (case_id, cluster))
        self.copies += first != case_id and (cluster is None or cluster != together)

    def add_rows(self, case_id: str, rows: Sequence[VerdictRow]) -> None:
        """Count a case of one judge by its rows: by the hash of its plain question, else of another one."""
        asked = min(rows, key=lambda row: (row.perturbation != "none", row.perturbation, row.repetition)).probe_hash
        self.add(case_id, asked, named_cluster(rows, self._column))

    @property
    def warnings(self) -> list[str]:
        """What is to be said of them: nothing, or one sentence."""
        if not self.copies:
            return []
        ask, count = ("asks", "counts") if self.copies == 1 else ("ask", "count")
        told = (
            f"{self.copies} of {self.cases} cases {ask} word for word what another case does, and {count} as "
            f"independent of it: leave copies out, or give them one value in a column {self._column!r}"
        )
        return [told]


def copied_cases(rows: Iterable[VerdictRow], column: str = CLUSTER) -> list[str]:
    """Return what is to be said of copies among the rows of one judge; a case is one in all its runs."""
    groups: dict[str, list[VerdictRow]] = {}
    for row in rows:
        groups.setdefault(row.case_id, []).append(row)
    copies = CopiedCases(column)
    for case_id, group in groups.items():
        copies.add_rows(case_id, group)
    return copies.warnings
