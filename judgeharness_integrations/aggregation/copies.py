"""Cases that ask what another case asks: told apart by their ids alone, they are no independent evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from judgeharness_integrations.aggregation.grouping import CLUSTER, named_cluster
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["CopiedCases", "copied_cases", "copies_together"]

_MOST: Final = 100_000  # cases that are remembered; a copy of a later one is not seen


class CopiedCases:
    """Counts cases that ask what another one asks, and says which cluster each of them is in.

    Those in one named cluster are known to belong together and do not count.
    """

    def __init__(self, column: str = CLUSTER) -> None:
        """Start without cases; `column` names clusters."""
        self._column = column
        self.cases = self.copies = self._apart = 0
        self._first: dict[Hashable, tuple[str, str | None]] = {}

    def add(self, case_id: str, asked: Hashable | None, cluster: str | None) -> tuple[str, str]:
        """Count a case by a digest of what it asks, and return its cluster; without a digest, None, it is no copy.

        A case is in the cluster it names, else in that of the first one that asks the same; see `cluster_of`.
        """
        self.cases += 1
        first, named = case_id, cluster
        if asked is not None and (asked in self._first or len(self._first) < _MOST):
            first, named = self._first.setdefault(asked, (case_id, cluster))
        copied = first != case_id and (cluster is None or cluster != named)
        self.copies += copied
        self._apart += copied and cluster is not None
        shared = named if cluster is None else cluster
        return ("case", first) if shared is None else (self._column, shared)

    def add_rows(self, case_id: str, rows: Sequence[VerdictRow]) -> tuple[str, str]:
        """Count a case of one judge by its rows: by the hash of its plain question, else of another one."""
        plain = min(rows, key=lambda row: (row.perturbation != "none", row.perturbation, row.repetition), default=None)
        return self.add(case_id, None if plain is None else plain.probe_hash, named_cluster(rows, self._column))

    @property
    def warnings(self) -> list[str]:
        """What is to be said where each case stands for itself: nothing, or one sentence."""
        return self._told(self.copies)

    @property
    def together(self) -> list[str]:
        """What is to be said where they are in the clusters that `add` returned."""
        joined = self.copies - self._apart
        if not joined:
            return self._told(self._apart)
        ask, belong = ("asks", "belongs") if joined == 1 else ("ask", "belong")
        told = f"{joined} of {self.cases} cases {ask} word for word what another case does, and {belong} to its cluster"
        return [told, *self._told(self._apart)]

    def _told(self, copies: int) -> list[str]:
        if not copies:
            return []
        ask, count = ("asks", "counts") if copies == 1 else ("ask", "count")
        told = (
            f"{copies} of {self.cases} cases {ask} word for word what another case does, and {count} as "
            f"independent of it: leave copies out, or give them one value in a column {self._column!r}"
        )
        return [told]


def copied_cases(rows: Iterable[VerdictRow], column: str = CLUSTER) -> list[str]:
    """Return what is to be said of copies among the rows of one judge; a case is one in all its runs."""
    return _counted(rows, column)[0].warnings


def copies_together(rows: Sequence[VerdictRow], column: str = CLUSTER) -> tuple[Sequence[VerdictRow], list[str]]:
    """Return the rows of one judge, those of copies with one value in a column, and what is to be said of them."""
    copies, clusters = _counted(rows, column)
    if not copies.copies:
        return rows, []
    sizes = Counter(clusters.values())
    shared = {
        case_id: {column: name if kind == column else f"asked as {name}"}
        for case_id, (kind, name) in clusters.items()
        if sizes[kind, name] > 1
    }
    together = [replace(row, attributes={**row.attributes, **shared.get(row.case_id, {})}) for row in rows]
    return together, copies.together


def _counted(rows: Iterable[VerdictRow], column: str) -> tuple[CopiedCases, Mapping[str, tuple[str, str]]]:
    groups: dict[str, list[VerdictRow]] = {}
    for row in rows:
        groups.setdefault(row.case_id, []).append(row)
    copies = CopiedCases(column)
    return copies, {case_id: copies.add_rows(case_id, group) for case_id, group in groups.items()}
