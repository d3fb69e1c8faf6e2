"""Rows grouped by judge, criterion and case, counted in one walk; and which cases belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeAlias

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.encoding import CLUSTER_COLUMN, PAIR_COLUMN, TEXT_COLUMN, counted
from judgeharness_integrations.verdictlog.row import (
    EVERY_CRITERION,
    EXCHANGED,
    FIRST_ROW_ONLY,
    OUTCOMES,
    Verdict,
    VerdictRow,
    is_number,
    plainness,
    verdict_text,
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


_SEVERAL = 2


@dataclass(slots=True)
class TallyOfOne:
    """The rows under one perturbation: how many, the valid ones, and verdict -> count; `swapped`: one swaps texts.

    `probabilities` are those of the first answer that holds any.
    """

    asked: int
    valid: list[VerdictRow]
    counts: dict[Verdict, int]
    swapped: bool
    probabilities: Mapping[str, float] | None = None


@dataclass(slots=True)
class Tally:
    """Verdict -> count over valid samples, outcome -> count over all, and the same by perturbation.

    Verdicts stand with the most frequent first, then in order of appearance. `conflicts`: answers that the parser read
    in two ways.
    """

    counts: Mapping[Verdict, int]
    outcomes: dict[str, int]
    perturbations: dict[str, TallyOfOne]
    conflicts: int
    numeric: bool | None


def tallied(rows: Sequence[VerdictRow]) -> Tally:
    """Count the rows of one case and criterion.

    Raises:
        UsageError: labels and numbers are mixed.

    """
    counts: dict[Verdict, int] = {}  # a case has few samples: Counters would take longer
    outcomes: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    perturbations: dict[str, TallyOfOne] = {}
    conflicts = 0
    for row in rows:
        outcomes[row.outcome] += 1
        one = perturbations.get(row.perturbation)
        if one is None:
            one = perturbations[row.perturbation] = TallyOfOne(0, [], {}, swapped=False)
        one.asked += 1
        if row.swapped:
            one.swapped = True
        one.probabilities = one.probabilities or row.probabilities
        if (verdict := row.verdict) is not None:
            one.valid.append(row)
            one.counts[verdict] = one.counts.get(verdict, 0) + 1
            counts[verdict] = counts.get(verdict, 0) + 1
        if row.attributes and row.attributes.get("parser_conflict"):
            conflicts += 1
    for one in perturbations.values():
        one.counts = _by_frequency(one.counts)
    return Tally(_by_frequency(counts), outcomes, perturbations, conflicts, is_numeric(rows, verdicts=counts))


def _by_frequency(counts: dict[Verdict, int]) -> dict[Verdict, int]:
    if len(counts) < _SEVERAL:
        return counts
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


CLUSTER = CLUSTER_COLUMN
Cluster: TypeAlias = "tuple[str, str]"  # `case` or the column of clusters, and the case's id or the value there
_Labels: TypeAlias = "tuple[str | None, Mapping[str, Verdict]]"  # a digest of the question in its order, gold labels


class Attributed(Protocol):
    """A row, or a case that rows will be of."""

    @property
    def attributes(self) -> Mapping[str, str | float]:
        """Its further columns."""
        ...


class Answered(Protocol):
    """A case and rows about it: a result, or a case of a log."""

    @property
    def case_id(self) -> str:
        """The case."""
        ...

    @property
    def rows(self) -> Sequence[VerdictRow]:
        """Its rows."""
        ...


def attributed(case: object) -> list[Attributed]:
    """Return a case where it has attributes, none of another."""
    found: Any = case
    return [found] if hasattr(case, "attributes") else []


def named_cluster(rows: Iterable[Attributed], column: str = CLUSTER) -> str | None:
    """Return what the rows of a case, or the case, say in a column of clusters; None where they say nothing.

    A number and its text, as one file has it and another, are one value.
    """
    found = next((row.attributes[column] for row in rows if column in row.attributes), None)
    return None if found is None else verdict_text(found) or None


class Clusters:
    """Which cases of one judge belong together: the only place where that is decided.

    Cases are in one cluster where they name the same one, where they ask word for word the same (a pair also with its
    answers exchanged), and where a chain of such links connects them. A case that was measured several times, in
    several runs say, is one case. Memory grows by a digest a case, about 400 bytes, and time with
    their number.
    """

    def __init__(self, column: str = CLUSTER) -> None:
        """Start without cases; `column` names clusters."""
        self._column = column
        self._places: dict[str, int] = {}
        self._parents: list[int] = []  # a forest: the place of another case of the cluster, itself at its root
        self._measured: list[int] = []
        self._names: list[str | None] = []
        self._labels: list[_Labels | None] = []
        self._golds: dict[Hashable, Mapping[str, Verdict]] = {}
        self._named: dict[str, int] = {}  # value of the column -> the first case that has it
        self._asked: dict[Hashable, int] = {}  # digest of a question -> the first case that asks it
        self._copied: dict[int, int] = {}  # a copy -> the first case that asks the same
        self._contradicted: set[int] = set()
        self._keys: dict[int, Cluster] = {}
        self._alone = 0  # cases that are not kept

    @classmethod
    def of_cases(cls, cases: Iterable[Answered], column: str = CLUSTER) -> Self:
        """Return those of the cases of one judge, by their rows."""
        found = cls(column)
        for case in cases:
            found.add_rows(case.case_id, case.rows)
        return found

    @classmethod
    def of_rows(cls, rows: Iterable[VerdictRow], column: str = CLUSTER) -> Self:
        """Return those of rows, also of several judges, each of whom is asked in words of its own."""
        found = cls(column)
        for mine in by_judge(rows).values():
            for (_, case_id), group in by_case(mine).items():
                found.add_rows(case_id, group)
        return found

    def add(self, case_id: str, asked: Hashable | None, named: str | None, labels: _Labels | None = None) -> bool:
        """Take in a case by a digest of what it asks (None: not known) and the cluster it names.

        Returns whether it asks what an earlier case asks that is not known to belong to the cluster it names.
        """
        self._keys.clear()
        place = self._places.setdefault(case_id, len(self._parents))
        if place == len(self._parents):
            self._parents.append(place)
            self._measured.append(0)
            self._names.append(named)
            self._labels.append(labels)
        self._measured[place] += 1
        if named is not None:
            self._join(place, self._named.setdefault(named, place))
        first = place if asked is None else self._asked.setdefault(asked, place)
        if first == place:
            return False
        self._join(place, first)
        if named is not None and named == self._names[first]:
            return False
        self._copied[place] = first
        self._compare(place, first, labels)
        return True

    def add_rows(self, case_id: str, rows: Sequence[VerdictRow], *, once: bool = False) -> bool:
        """Take in a case by its rows: by the digest of its texts, of a pair in any order, where they have one.

        Others are known by the hash of their plain question, else of another one. One that is measured `once`, and has
        neither digest nor cluster, is alone: it is counted and not kept.
        """
        asked, order = _asked(rows)
        if once and asked is None and named_cluster(rows, self._column) is None:
            self._alone += 1
            return False
        golds: Mapping[str, Verdict] = _golds(rows)
        golds = self._golds.setdefault(tuple(golds.items()), golds)  # equal ones are kept once
        return self.add(case_id, asked, named_cluster(rows, self._column), (order, golds) if golds else None)

    def of(self, case_id: str) -> Cluster:
        """Return the cluster of a case that was added; it does not depend on the order in which cases were."""
        if not self._keys:
            self._name_all()
        return self._keys[self._root(self._places[case_id])]

    def by_case(self) -> dict[str, Cluster]:
        """Return case -> its cluster, of every case that was added."""
        return {case_id: self.of(case_id) for case_id in self._places}

    def question(self, case_id: str) -> Hashable:
        """Return what a case and its copies have in common, and no other case; of a case without a copy it is its own.

        Cases that ask the same in one named cluster are known to belong together, and are no copies.
        """
        place = self._places[case_id]
        return self._copied.get(place, place)

    def by_question(self) -> list[Cluster]:
        """Return the cluster of every case that is no copy of another one."""
        return [self.of(case_id) for case_id, place in self._places.items() if place not in self._copied]

    def shared(self) -> dict[str, Cluster]:
        """Return case -> cluster of the cases that are not alone: they share one, or were measured several times."""
        sizes: Counter[int] = Counter()
        for place, times in enumerate(self._measured):
            sizes[self._root(place)] += times
        return {case_id: self.of(case_id) for case_id, place in self._places.items() if sizes[self._root(place)] > 1}

    def shared_names(self) -> dict[str, str]:
        """Return `shared` as texts, to be saved: `case c1`, `cluster news`."""
        return {case_id: " ".join(cluster) for case_id, cluster in self.shared().items()}

    def __len__(self) -> int:
        """Return the number of clusters."""
        return self._alone + sum(place == parent for place, parent in enumerate(self._parents))

    @property
    def copied(self) -> list[str]:
        """What is to be said of copies: nothing, or one sentence."""
        if not self._copied:
            return []
        copies, cases = len(self._copied), len(self._places) + self._alone
        ask, count = ("asks", "counts") if copies == 1 else ("ask", "count")
        told = (
            f"{copies} of {cases} cases {ask} word for word what another case does, and {count} as one "
            f"cluster with it: intervals and tests are over {counted(len(self), 'cluster')}"
        )
        if against := len(self._contradicted):
            told += f"; {against} of the copies {'has' if against == 1 else 'have'} another gold label"
        return [told]

    def _compare(self, place: int, first: int, labels: _Labels | None) -> None:
        """Note whether labels of a copy contradict those of what it copies."""
        known = self._labels[first]
        if known is None:
            self._labels[first] = labels
        elif labels is not None and _differ(known, labels):
            self._contradicted.add(place)

    def _root(self, place: int) -> int:
        parents = self._parents
        while parents[place] != place:
            parents[place] = parents[parents[place]]  # halves the way, so that the next one is short
            place = parents[place]
        return place

    def _join(self, one: int, other: int) -> None:
        one, other = self._root(one), self._root(other)
        self._parents[max(one, other)] = min(one, other)

    def _name_all(self) -> None:
        """Name each cluster by the least of the values in the column, else of its cases."""
        keys = self._keys
        for name, place in self._named.items():
            root = self._root(place)
            keys[root] = min(keys.get(root, (self._column, name)), (self._column, name))
        named = {*keys}
        for case_id, place in self._places.items():
            if (root := self._root(place)) not in named:
                keys[root] = min(keys.get(root, ("case", case_id)), ("case", case_id))


def copied_cases(rows: Iterable[VerdictRow], column: str = CLUSTER) -> list[str]:
    """Return what is to be said of copies among the rows of one judge; a case is one in all its runs."""
    return Clusters.of_rows(rows, column).copied


def copies_together(rows: Sequence[VerdictRow], column: str = CLUSTER) -> tuple[Sequence[VerdictRow], list[str]]:
    """Return rows, those of copies with one value in a column, and what is to be said of them."""
    clusters = Clusters.of_rows(rows, column)
    if not clusters.copied:
        return rows, []
    cases = dict.fromkeys(row.case_id for row in rows)
    sizes = Counter(clusters.of(case_id) for case_id in cases)
    shared = {
        case_id: {column: name if kind == column else f"asked as {name}"}
        for case_id, (kind, name) in ((case_id, clusters.of(case_id)) for case_id in cases)
        if sizes[kind, name] > 1
    }
    together = [replace(row, attributes={**row.attributes, **shared.get(row.case_id, {})}) for row in rows]
    return together, clusters.copied


def without_copies(rows: Sequence[VerdictRow], column: str = CLUSTER) -> tuple[Sequence[VerdictRow], list[str]]:
    """Return the rows of one judge about one case of those that ask the same, and what is to be said of the others.

    The first one with a label stays, else the first one. Those in one named cluster all stay, as they are known to
    belong together, and so do those whose labels contradict its: in its cluster, as they are evidence against it.
    """
    groups, clusters = _by_case_id(rows), Clusters(column)
    labelled_first = sorted(groups, key=lambda case_id: all(row.gold is None for row in groups[case_id]))
    copied = [case_id for case_id in labelled_first if clusters.add_rows(case_id, groups[case_id])]
    labels: dict[Hashable, list[_Labels]] = {}
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


def _by_case_id(rows: Iterable[VerdictRow]) -> dict[str, list[VerdictRow]]:
    groups: dict[str, list[VerdictRow]] = {}
    for row in rows:
        groups.setdefault(row.case_id, []).append(row)
    return groups


def _asked(rows: Sequence[VerdictRow]) -> tuple[Hashable | None, str | None]:
    """Return a digest of what a case asks, its answers in any order, and one of what it asks in its own order."""
    plain = min(rows, key=lambda row: plainness(row.perturbation, row.repetition), default=None)
    if plain is None:
        return None, None
    order = plain.attributes.get(TEXT_COLUMN, plain.probe_hash)
    return plain.attributes.get(PAIR_COLUMN, order), None if order is None else str(order)


def _golds(rows: Sequence[VerdictRow]) -> dict[str, Verdict]:
    return {row.criterion: row.gold for row in rows if row.gold is not None}


def _differ(one: _Labels, other: _Labels) -> bool:
    """Whether labels of two cases that ask the same say different things; of exchanged answers A is the other's B."""
    exchanged = EXCHANGED if one[0] != other[0] else {}
    return any(
        (exchanged.get(gold, gold) if isinstance(gold, str) else gold) != one[1].get(criterion, gold)
        for criterion, gold in other[1].items()
        if criterion in one[1]
    )
