"""Rows grouped by judge, criterion and case, and cases that ask what another case asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.encoding import PAIR_COLUMN
from judgeharness_integrations.verdictlog.row import (
    EVERY_CRITERION,
    FIRST_ROW_ONLY,
    Verdict,
    VerdictRow,
    is_number,
    verdict_text,
)

__all__ = [
    "CLUSTER",
    "DEFAULT_CRITERION",
    "EVERY_CRITERION",
    "CopiedCases",
    "attributed",
    "by_case",
    "by_criterion",
    "by_judge",
    "cluster_of",
    "copied_cases",
    "copies_together",
    "is_numeric",
    "named_cluster",
    "omitted_answers",
    "without_copies",
]


CLUSTER = "cluster"  # the attribute of rows whose equal values belong together
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


class Attributed(Protocol):
    """A row, or a case that rows will be of."""

    @property
    def attributes(self) -> Mapping[str, str | float]:
        """Its further columns."""
        ...


def attributed(case: object) -> list[Attributed]:
    """Return a case where it has attributes, none of another."""
    found: Any = case
    return [found] if hasattr(case, "attributes") else []


def named_cluster(rows: Iterable[Attributed], column: str = CLUSTER) -> str | None:
    """Return what the rows of a case, or the case, say in a column of clusters; None where they say nothing."""
    found = next((row.attributes[column] for row in rows if column in row.attributes), None)
    return None if found is None else verdict_text(found) or None


def cluster_of(case_id: str, rows: Iterable[Attributed], column: str = CLUSTER) -> Hashable:
    """Return what a case shares with those it belongs together with: cases of one source are not independent.

    That is the value its rows have in a column, else the case itself: measured several times, in several runs say, it
    tells of one case. A number and its text, as one file has it and another, are one value.
    """
    named = named_cluster(rows, column)
    return ("case", case_id) if named is None else (column, named)


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
        """Count a case of one judge by its rows: a pair by the digest of its answers in any order, where they have one.

        Others are counted by the hash of their plain question, else of another one.
        """
        return self.add(case_id, _asked(rows)[0], named_cluster(rows, self._column))

    def is_copy(self, case_id: str, rows: Sequence[VerdictRow]) -> bool:
        """Count a case by its rows, and say whether it is a copy of an earlier one."""
        before = self.copies
        self.add_rows(case_id, rows)
        return self.copies > before

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


def without_copies(rows: Sequence[VerdictRow], column: str = CLUSTER) -> tuple[Sequence[VerdictRow], list[str]]:
    """Return the rows of one judge about one case of those that ask the same, and what is to be said of the others.

    The first one with a label stays, else the first one. Those in one named cluster all stay, as they are known to
    belong together, and so do those whose labels contradict its: in its cluster, as they are evidence against it.
    """
    groups, copies = _grouped(rows, "case_id"), CopiedCases(column)
    labelled_first = sorted(groups, key=lambda case_id: all(row.gold is None for row in groups[case_id]))
    copied = [case_id for case_id in labelled_first if copies.is_copy(case_id, groups[case_id])]
    labels: dict[Hashable, list[tuple[str | None, Mapping[str, Verdict]]]] = {}
    for case_id in labelled_first if copied else ():
        asked, order = _asked(groups[case_id])
        labels.setdefault(asked, []).append((order, _golds(groups[case_id])))
    disputed = {asked for asked, given in labels.items() if any(_differ(given[0], one) for one in given[1:])}
    left_out = {case_id for case_id in copied if _asked(groups[case_id])[0] not in disputed}
    kept, told = copies_together([row for row in rows if row.case_id not in left_out], column)
    if not left_out:
        return kept, told
    ask, are = ("asks", "is") if len(left_out) == 1 else ("ask", "are")
    sentence = (
        f"{len(left_out)} of {len(groups)} cases {ask} word for word what another case does, and {are} left out: "
        "a label of a copy is no further evidence"
    )
    return kept, [sentence, *told]


def _asked(rows: Sequence[VerdictRow]) -> tuple[Hashable | None, str | None]:
    """Return a digest of what a case asks, its answers in any order, and one of what it asks in its own order."""
    plain = min(rows, key=lambda row: (row.perturbation != "none", row.perturbation, row.repetition), default=None)
    return (None, None) if plain is None else (plain.attributes.get(PAIR_COLUMN, plain.probe_hash), plain.probe_hash)


def _golds(rows: Sequence[VerdictRow]) -> dict[str, Verdict]:
    return {row.criterion: row.gold for row in rows if row.gold is not None}


def _differ(one: tuple[str | None, Mapping[str, Verdict]], other: tuple[str | None, Mapping[str, Verdict]]) -> bool:
    """Whether labels of two cases that ask the same say different things; of exchanged answers A is the other's B."""
    exchanged = {"A": "B", "B": "A"} if one[0] != other[0] else {}
    return any(
        (exchanged.get(gold, gold) if isinstance(gold, str) else gold) != one[1].get(criterion, gold)
        for criterion, gold in other[1].items()
        if criterion in one[1]
    )


def _counted(rows: Iterable[VerdictRow], column: str) -> tuple[CopiedCases, Mapping[str, tuple[str, str]]]:
    copies = CopiedCases(column)
    return copies, {case_id: copies.add_rows(case_id, group) for case_id, group in _grouped(rows, "case_id").items()}
