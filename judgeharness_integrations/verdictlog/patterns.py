"""A large log as the cases that differ: most cases have just such rows as another one, but for their name."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from os import PathLike
from sys import intern
from typing import Any, Final, TypeAlias

from judgeharness_integrations._errors import LogFormatError

from .decoding import CORE, NUMBERS, Line, Record, iter_decoded, perturbation_of
from .encoding import CLUSTER_COLUMN, PAIR_COLUMN, TEXT_COLUMN
from .files import Cells, Columns, iter_cells
from .row import CaseKey, VerdictRow, is_probe, plainness

Reduced: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, str | float]]
_Attributes: TypeAlias = "tuple[tuple[str, str | float], ...]"

_MOST: Final = 100_000  # patterns, and cells that are known to be numbers
_WORTH: Final = 4  # rows that a pattern must stand for where there are more
_DIGESTS: Final = (PAIR_COLUMN, TEXT_COLUMN, "probe_hash")  # of what a case asks; the first one there is


@dataclass(frozen=True, kw_only=True)
class CasePatterns:
    """A log by its cases: the rows of one case of each pattern, and how many cases share it.

    Rows say who was asked what, the answer, the gold label, the attributes that matter and whether there was a call id,
    and nothing else. They are those of the first case of a pattern, and stand as in the log as far as cases, judges,
    criteria and answers are there for the first time. Every case is alone: no other one names its cluster or asks what
    it asks, and no other run holds it.

    `like`: case that stands for several -> how many they are.
    """

    rows: Sequence[VerdictRow]
    like: Mapping[CaseKey, int] = field(default_factory=dict)


def read_patterns(
    path: str | PathLike[str], *, attributes: Sequence[str], reduced: Reduced, labels: bool = False
) -> CasePatterns | None:
    """Return a log by its cases; None where they hardly repeat each other, some belong together, or have probabilities.

    Each row moves its case on by one answer, wherever it stands in the log: a case is a place in a tree of answers.

    Args:
        path: the log.
        attributes: those that may matter.
        reduced: what of them does matter.
        labels: see `read_log`.

    Raises:
        LogFormatError: the log is malformed; which line is to be named first is for `read_log` to say.

    """
    tree = _Tree(str(path), attributes, reduced)
    if not tree.grow(iter_cells(path, attributes=(*attributes, *_DIGESTS[:2]))):
        return None
    standing = tree.standing()

    def records() -> Iterator[Record]:
        for number, (case_id, answer) in enumerate(standing, start=1):
            yield number, {**answer.record, "case_id": case_id}

    rows = list(iter_decoded(records, source=str(path), labels=labels, held=True))
    return CasePatterns(rows=rows, like=tree.like)


@dataclass(eq=False, slots=True)
class _Group:
    """The cases of a run and judge: to which place each came, the lines of their first rows, what they ask."""

    run: str
    judge: str
    places: dict[str, int] = field(default_factory=dict)
    lines: array[int] = field(default_factory=lambda: array("q"))
    asked: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class _Answer:
    """What many rows say. `steps` lead from a place to the next; `rank` is least for the plainest question."""

    group: _Group
    line: int
    record: dict[str, Any]
    rank: tuple[bool, str, int] | None
    steps: dict[int, int] = field(default_factory=dict)


class _Layout:
    """Lines with the same columns: which of their cells matter."""

    def __init__(self, columns: Columns, attributes: Sequence[str], reduced: Reduced) -> None:
        places = {name: place for place, name in enumerate(columns.names)}
        if not {"case_id", "verdict"} <= {*places}:
            raise LogFormatError("a log needs case_id and verdict.")
        self.case, self.answers = places["case_id"], dict[Hashable, _Answer]()
        self.digests = [places[name] for name in _DIGESTS if name in places]
        self.numbers = [(places[name], name, {None, ""}) for name in NUMBERS if name in places]
        self._columns, self._reduced = columns, reduced
        self._core = [name for name in (*sorted(CORE), "pair", "side") if name in places and name != "case_id"]
        self._core_cells = itemgetter(*(places[name] for name in self._core))
        self.shares = places.get("probabilities")
        neutral = places["verdict"]  # a cell that tells no answers apart which others do not
        self._call = places.get("call_id", neutral)
        self._attributes = [(name, places[name]) for name in attributes if name in places]
        self._attribute_cells = itemgetter(*(place for _, place in self._attributes or [("", neutral)]))
        self._kept: dict[Hashable, _Attributes] = {}
        whole = columns.typed or "call_id" in places or self._attributes
        self.key: Callable[[Sequence[Any]], Hashable] = self._whole_key if whole else self._core_cells

    def _whole_key(self, cells: Sequence[Any]) -> Hashable:
        core, call, attributes = self._core_cells(cells), cells[self._call], self._attribute_cells(cells)
        if self._columns.typed:
            core, attributes = repr(core), repr(attributes)
        kept = self._kept.get(attributes)
        return core, call is None or call == "", self._learn(attributes, cells) if kept is None else kept

    def _learn(self, mark: Hashable, cells: Sequence[Any]) -> _Attributes:
        kept = self._attributes_of(cells)
        if len(self._kept) < _MOST:
            self._kept[mark] = kept
        return kept

    def _attributes_of(self, cells: Sequence[Any]) -> _Attributes:
        """Return what matters of the attributes."""
        given = {name: cells[place] for name, place in self._attributes if cells[place] not in (None, "")}
        return tuple(self._reduced(given).items())

    def record(self, cells: Sequence[Any]) -> dict[str, Any]:
        """Return what matters of a line as a record, without its case."""
        record = self._columns.record(cells)
        called = {"call_id": "call"} if record.get("call_id") not in (None, "") else {}
        core = (*self._core, "schema")  # which a record of a database has, though no column of it
        return {name: record[name] for name in core if name in record} | called | dict(self._attributes_of(cells))

    def check_numbers(self, cells: Sequence[Any], source: str, line: int) -> None:
        """Raise a LogFormatError where evidence that is a number holds none."""
        for place, name, known in self.numbers:
            mark = repr(cells[place]) if self._columns.typed else cells[place]
            if mark in known or cells[place] is None:
                continue
            NUMBERS[name](Line(source, (line, {name: cells[place]})), name)
            if len(known) < _MOST:
                known.add(mark)


class _Tree:
    """Cases by their answers: a place is what a case was answered so far, in the order of the log."""

    def __init__(self, source: str, attributes: Sequence[str], reduced: Reduced) -> None:
        self._source, self._attributes, self._reduced = source, attributes, reduced
        self._groups: dict[tuple[str, str], _Group] = {}
        self._answers: dict[str, _Answer] = {}
        self._came: list[tuple[int, _Answer]] = []  # place -> the one before, and the answer between them; 0 is nowhere
        self._plain: list[tuple[bool, tuple[bool, str, int] | None]] = [(False, None)]
        self.like: dict[CaseKey, int] = {}

    def grow(self, lines: Iterable[Cells]) -> bool:
        """Read a log; return whether its cases repeat each other enough, there are any, and none has probabilities."""
        layouts: dict[Columns, _Layout] = {}
        for number, columns, cells in lines:
            layout = layouts.get(columns)
            if layout is None:
                layout = layouts[columns] = _Layout(columns, self._attributes, self._reduced)
            answer = layout.answers.get(key := layout.key(cells))
            if answer is None:
                answer = layout.answers[key] = self._answer(layout, number, cells)
            if layout.shares is not None and cells[layout.shares] not in (None, ""):
                return False
            group, case_id = answer.group, cells[layout.case]
            if case_id.__class__ is not str:
                case_id = "" if case_id is None else str(case_id)
            place = group.places.get(case_id)
            if place is None:
                case_id, place = self._new_case(group, case_id, number), 0
            after = answer.steps.get(place)
            if after is None and (after := self._step(place, answer, number)) is None:
                return False
            group.places[case_id] = after
            if layout.numbers:
                layout.check_numbers(cells, self._source, number)
            if layout.digests and self._plain[after][0]:
                self._note_asked(group, case_id, [cells[one] for one in layout.digests])
        return bool(self._groups) and not self._related()

    def _related(self) -> bool:
        """Whether cases belong together: by a named cluster, by what they ask, or as one that is in several runs."""
        if any(answer.record.get(CLUSTER_COLUMN) not in (None, "") for answer in self._answers.values()):
            return True
        for judge in {group.judge for group in self._groups.values()}:
            groups = [group for group in self._groups.values() if group.judge == judge]
            asked = [digest for group in groups for digest in group.asked.values()]
            cases = {case_id for group in groups for case_id in group.places}
            if len({*asked}) < len(asked) or len(cases) < sum(len(group.places) for group in groups):
                return True
        return False

    def _answer(self, layout: _Layout, line: int, cells: Sequence[Any]) -> _Answer:
        """Return an answer that stands in a line for the first time, or before in one with other columns."""
        record = layout.record(cells)
        read = Line(self._source, (line, record))
        mark = repr(record)
        if mark not in self._answers:
            run, judge = read.text("run", ""), read.text("judge", "judge")
            group = self._groups.setdefault((run, judge), _Group(run=run, judge=judge))
            asked_under = perturbation_of(read)
            rank = plainness(asked_under, read.integer("repetition") or 0)
            voted = not is_probe(asked_under)
            self._answers[mark] = _Answer(group=group, line=line, record=record, rank=rank if voted else None)
        return self._answers[mark]

    def _new_case(self, group: _Group, case_id: str, line: int) -> str:
        if not case_id:
            Line(self._source, (line, {})).fail("case_id is empty.")
        group.lines.append(line)
        return intern(case_id)

    def _step(self, place: int, answer: _Answer, line: int) -> int | None:
        """Return where a case comes to that nobody has come to yet; None where most cases come to a place alone."""
        after = len(self._plain)
        if after > _MOST and after * _WORTH > line:
            return None
        least = self._plain[place][1]
        plainest = answer.rank is not None and (least is None or answer.rank < least)
        self._came.append((place, answer))
        self._plain.append((plainest, answer.rank if plainest else least))
        answer.steps[place] = after
        return after

    @staticmethod
    def _note_asked(group: _Group, case_id: str, digests: Iterable[Any]) -> None:
        digest = next((str(one) for one in digests if one not in (None, "")), None)
        if digest is None:
            group.asked.pop(case_id, None)
        else:
            group.asked[case_id] = digest

    def standing(self) -> list[tuple[str, _Answer]]:
        """Return the cases that stand for all with their answers, and learn for how many each does.

        They are sorted so that what is there for the first time in the log is there for the first time here: a row
        stands after the first one of its case, and after the first row anywhere that says the same.
        """
        lines: list[tuple[int, str, _Answer]] = []
        for case_id, place, line in self._representatives():
            at = line
            for answer in self._path(place):
                at = max(at, answer.line)
                lines.append((at, case_id, answer))
        lines.sort(key=itemgetter(0))
        return [(case_id, answer) for _, case_id, answer in lines]

    def _path(self, place: int) -> list[_Answer]:
        """Return the answers on the way to a place."""
        answers = []
        while place:
            place, answer = self._came[place - 1]
            answers.append(answer)
        return answers[::-1]

    def _representatives(self) -> Iterator[tuple[str, int, int]]:
        """Yield the first case of every pattern, its place and its first line."""
        for group in self._groups.values():
            sizes, known = Counter(group.places.values()), set[int]()
            for (case_id, place), line in zip(group.places.items(), group.lines, strict=True):
                if place in known:
                    continue
                known.add(place)
                if sizes[place] > 1:
                    self.like[group.run, group.judge, case_id] = sizes[place]
                yield case_id, place, line
