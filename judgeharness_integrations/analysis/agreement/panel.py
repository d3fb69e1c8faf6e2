"""A panel: who said what about which item, from a verdict log, annotation JSON or a table."""

from __future__ import annotations

import ast
import json
import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import LogFormatError, UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.decoding import Record, decode
from judgeharness_integrations.verdictlog.row import (
    EVERY_CRITERION,
    Verdict,
    VerdictRow,
    is_number,
    verdict_from_json,
    verdict_text,
    voting,
)

from ..aggregation.grouping import CLUSTER, Clusters
from ..aggregation.rules import Rule, RuleLike, decide
from ..aggregation.rules import rule as named_rule
from ..replay import rows_about

_ITEMS = ("case_id", "item", "item_id", "instance", "instance_id", "id", "text_id", "question_id", "document", "text")
_RATERS = ("judge", "rater", "annotator", "annotator_id", "worker", "worker_id", "coder", "labeler", "author", "model")
_LABELS = ("verdict", "label", "labels", "annotation", "annotations", "rating", "score", "answer")
MARKS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
_MISSING = frozenset({"", "nan"})  # what is empty, and what pandas writes for it


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns of a table hold item, rater and labels; what is empty is found by its usual names.

    `labels` is one column of labels or label lists, several columns of 0 and 1, or, in a table without a rater column,
    a column of labels for each rater; globs allowed.
    """

    item: str | None = None
    rater: str | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where a table holds what: without a `rater` column, each of `labels` is a rater; `marks`: they hold 0 and 1."""

    item: str
    rater: str | None
    labels: tuple[str, ...]
    marks: bool


def is_log(header: Container[str]) -> bool:
    """Whether columns are those of a verdict log rather than of a table whose raters stand elsewhere."""
    named = "judge" in header or not any(name in header for name in _RATERS)
    return named and "case_id" in header and "verdict" in header


def cell_text(value: object) -> str:
    """Return a cell as text, empty where it is missing."""
    text = "" if value is None else str(value).strip()
    return "" if text.casefold() in _MISSING else text


def layout_of(records: Sequence[Record], columns: Columns, *, source: str) -> Layout:
    """Return where a table holds item, rater and labels.

    Raises:
        LogFormatError: a column is named that it has not, or one cannot be found.

    """
    header = list(records[0][1])
    item = columns.item or _usual(_ITEMS, header)
    rater = columns.rater or _usual(_RATERS, header)
    for option, name in (("--item", item), ("--rater", rater)):
        if name is not None and name not in header:
            raise LogFormatError(f"{source}: there is no column {name!r}: {option} is one of {', '.join(header)}.")
    if item is None:
        raise LogFormatError(f"{source}: which column names the item? Name it with --item: {', '.join(header)}.")
    named = _named(columns.labels, header, taken=(item, columns.rater), source=source)
    no_marks = not any(_are_marks(records, (name,)) for name in named)
    if len(named) > 1 and columns.rater is None and (rater is None or no_marks):
        return Layout(item=item, rater=None, labels=named, marks=False)
    if rater is None:
        raise LogFormatError(
            f"{source}: which column names the annotator? Name it with --rater, or, where each annotator has a column, "
            f"those columns with --columns: {', '.join(header)}."
        )
    if named:
        return Layout(item=item, rater=rater, labels=named, marks=len(named) > 1)
    if (usual := _usual(_LABELS, header)) is not None:
        return Layout(item=item, rater=rater, labels=(usual,), marks=False)
    marks = tuple(name for name in header if name not in (item, rater) and _are_marks(records, (name,)))
    if not marks:
        raise LogFormatError(f"{source}: which columns hold the labels? Name them with --columns: {', '.join(header)}.")
    ones = [name for name in marks if all(MARKS.get(cell_text(cells.get(name)).casefold()) for _, cells in records)]
    if ones:
        raise LogFormatError(f"{source}: is {ones[0]!r}, 1 in every row, a label? Name those that are with --columns.")
    return Layout(item=item, rater=rater, labels=marks, marks=True)


def _usual(names: Sequence[str], header: Iterable[str]) -> str | None:
    """Return the column with a usual name, however it is spelled: `Item ID`, `item-id`."""
    spelled = {name.strip().casefold().replace(" ", "_").replace("-", "_"): name for name in reversed(list(header))}
    return next((spelled[name] for name in names if name in spelled), None)


def _named(
    patterns: Sequence[str], header: Sequence[str], *, taken: Container[str | None], source: str
) -> tuple[str, ...]:
    for pattern in patterns:
        if not any(name == pattern or fnmatchcase(name, pattern) for name in header):
            raise LogFormatError(f"{source}: no column is named {pattern!r}: --columns is of {', '.join(header)}.")
    matched = (name for name in header if any(name == p or fnmatchcase(name, p) for p in patterns))
    return tuple(name for name in matched if name in patterns or name not in taken)


def _are_marks(records: Sequence[Record], names: Iterable[str]) -> bool:
    """Whether columns hold 0 and 1 alone, and not nothing."""
    texts = [{cell_text(cells.get(name)).casefold() for _, cells in records} - {""} for name in names]
    return all(found and found <= MARKS.keys() for found in texts)


_MARKS = (0, 1)  # True and False are equal to them
_SHORTEST = 2


class Lists:
    """What the lists of one column are: vectors of marks of one length, or lists of labels.

    `labels` are the positions of vectors, empty for lists of labels.
    """

    def __init__(self, values: Iterable[object]) -> None:
        """Look at all of them."""
        lists = [value for value in values if isinstance(value, list)]
        widths = {len(value) for value in lists}
        vectors = len(widths) == 1 and max(widths) >= _SHORTEST and all(mark in _MARKS for one in lists for mark in one)
        self.labels = tuple(str(place) for place in range(1, max(widths) + 1)) if vectors else ()

    def labels_of(self, value: Sequence[object]) -> list[str]:
        """Return the labels of a list."""
        if self.labels:
            return [label for label, mark in zip(self.labels, value, strict=True) if mark]
        return [verdict_text(label) if is_number(label) else label for label in value]  # type: ignore[arg-type,misc]


def is_missing(value: object) -> bool:
    """Whether a value is none: what pandas writes for a missing cell is not a number."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def listed(value: object) -> object:
    """Return a cell, the list it holds where it is one (JSON, or as Python prints it), None where it is missing."""
    if is_missing(value):
        return None
    text = value.strip() if isinstance(value, str) else ""
    if not (text.startswith("[") and text.endswith("]")):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            return list(read(text))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return text


def annotation_rows(
    cells: Iterable[tuple[str, str, object]], *, labels: bool = False
) -> tuple[list[VerdictRow], tuple[str, ...]]:
    """Return a row for every (rater, item, label), and the labels vectors of 0 and 1 stand for.

    Cells without a label (None, NaN) are left out.

    Raises:
        LogFormatError: a label is none.

    """
    said = [(rater, item, None if is_missing(label) else label) for rater, item, label in cells]
    lists = Lists(label for _, _, label in said)
    repeated: Counter[tuple[str, str]] = Counter()
    rows: list[VerdictRow] = []
    for rater, item, label in said:
        try:
            verdict = verdict_from_json(lists.labels_of(label) if isinstance(label, list) else label)
        except ValueError as error:
            raise LogFormatError(f"item {item!r} of {rater!r}: {error}.") from error
        if verdict is None:
            continue
        text = verdict_text(verdict) if labels and is_number(verdict) else verdict
        rows.append(VerdictRow(case_id=item, judge=rater, verdict=text, repetition=repeated[rater, item]))
        repeated[rater, item] += 1
    return rows, lists.labels


Kind: TypeAlias = Literal["labels", "numbers", "sets"]
DEFAULT_RULE = "majority | median"
_GLOB = frozenset("*?[")


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """The answers of people and judges about items: one cell a rater and item, missing ones absent.

    `rater`, `item` and `values` hold the cells, sorted by rater, then item: `rater` (cells,) indexes `raters`, `item`
    (cells,) indexes `items`; `values` are codes into `labels` (cells,), numbers (cells,) in units of the score, or
    marks (cells, labels) of sets. `labels` is sorted and covers the whole input. `clusters` (items,) says which items
    belong together, by the column `cluster_name`, or by what they ask (`text`); `copied` says how many ask what others
    do. `failed` counts answers without a verdict, `folded` the items a
    rater answered more than once (folded by `rule`), `undecided` those of them the rule left without a verdict.
    """

    raters: tuple[str, ...]
    items: tuple[str, ...]
    kind: Kind
    labels: tuple[str, ...]
    rater: NDArray[np.intp]
    item: NDArray[np.intp]
    values: NDArray[Any]
    clusters: NDArray[np.intp] | None = None
    cluster_name: str | None = None
    copied: tuple[str, ...] = ()
    failed: Mapping[str, int]
    folded: Mapping[str, int]
    undecided: Mapping[str, int]
    rule: str = DEFAULT_RULE

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[VerdictRow],
        *,
        criterion: str | None = None,
        cluster: str | None = None,
        rule: RuleLike = DEFAULT_RULE,
        labels: Sequence[str] = (),
    ) -> Panel:
        """Return the panel of a verdict log, whose `judge` names annotators and judges.

        Args:
            rows: the log.
            criterion: which one, when there are several.
            cluster: the column that says which items belong together; items that ask word for word the same do anyhow,
                and so do those of one value in a column `cluster`.
            rule: folds several answers of one rater about one item.
            labels: labels of sets that exist, also where nobody marked them.

        Raises:
            UsageError: there are several criteria, labels and numbers are mixed, or an item has no or two clusters.

        """
        return _build(rows, criterion=criterion, cluster=cluster, rule=rule, labels=labels)

    @classmethod
    def from_annotations(cls, annotations: Mapping[str, Mapping[str, Any]], *, labels: bool = False) -> Panel:
        """Return the panel of {rater: {item: label}}, the format of the alternative annotator test's authors.

        A label is a text, a number, a list of texts, or a list with 0 or 1 for each position; None is a missing cell.

        Args:
            annotations: humans and candidates alike.
            labels: read numbers as labels.

        Raises:
            UsageError: raters use labels of different kinds.

        """
        cells = ((rater, item, label) for rater, said in annotations.items() for item, label in said.items())
        rows, positions = annotation_rows(cells, labels=labels)
        return cls.from_rows(rows, labels=positions)

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """(cells,) whole numbers that are equal exactly where the answers are."""
        if self.kind == "labels":
            return self.values.astype(np.intp)
        if self.kind == "sets":  # as bytes, since sorting texts of marks is far slower
            packed = np.packbits(np.column_stack([self.values, np.ones(len(self.values), bool)]), axis=1)
            return np.unique(packed, axis=0, return_inverse=True)[1].reshape(-1)
        return np.unique(self.values, return_inverse=True)[1].reshape(-1)

    def cells_of(self, rater: str) -> slice:
        """Return where the cells of a rater stand."""
        place = self.raters.index(rater)
        low, high = np.searchsorted(self.rater, [place, place + 1])
        return slice(int(low), int(high))

    def grid(self, raters: Sequence[str]) -> NDArray[np.intp]:
        """Return `codes` as (raters, items), -1 where a rater did not answer."""
        return self._grid(raters, self.codes, np.full((len(raters), len(self.items)), -1, np.intp))

    def numbers_grid(self, raters: Sequence[str]) -> NDArray[np.float64]:
        """Return numbers as (raters, items), NaN where a rater did not answer."""
        return self._grid(raters, self.values, np.full((len(raters), len(self.items)), np.nan))

    def _grid(self, raters: Sequence[str], source: NDArray[Any], grid: NDArray[Any]) -> NDArray[Any]:
        for place, rater in enumerate(raters):
            cells = self.cells_of(rater)
            grid[place, self.item[cells]] = source[cells]
        return grid

    def select(self, patterns: Iterable[str], *, what: str = "rater", without: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the raters of names, comma lists of names and globs (`author_*`), in the panel's order.

        Args:
            patterns: a name that stands in the panel is taken as it is, commas and brackets included.
            what: what the error calls them.
            without: raters no glob takes.

        Raises:
            UnknownNameError: a name or glob matches nobody; the nearest name is offered.
            UsageError: a rater of `without` is named.

        """
        barred, chosen = set(without), set[str]()
        for name in (name for pattern in patterns for name in self._names(pattern)):
            if name in self.raters:
                if name in barred:
                    raise UsageError(f"{name!r} is named twice, as a human and as a {what}: leave one out.")
                chosen.add(name)
                continue
            matched = {rater for rater in self.raters if _GLOB & set(name) and fnmatchcase(rater, name)} - barred
            if not matched:
                raise UnknownNameError(what, name, set(self.raters) - barred)
            chosen |= matched
        return tuple(rater for rater in self.raters if rater in chosen)

    def roles(
        self, *, humans: Sequence[str], candidates: Sequence[str], what: str = "human"
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return humans and candidates of names and globs; no glob takes whom the other side names as they are.

        Args:
            humans: names and globs.
            candidates: names and globs.
            what: what an error calls the humans.

        Raises:
            UnknownNameError: a name or glob matches nobody.
            UsageError: a rater is named on both sides, or the humans took everybody.

        """
        named = self._as_they_are(candidates)
        people = self.select(humans, what=what, without=named - self._as_they_are(humans))
        if candidates and not named and len(people) == len(self.raters):
            raise UsageError(f"the {what}s took everybody, so that no candidate is left: name fewer.")
        return people, self.select(candidates, what="candidate", without=people)

    def _as_they_are(self, patterns: Iterable[str]) -> set[str]:
        return {name for pattern in patterns for name in self._names(pattern)} & set(self.raters)

    def _names(self, pattern: str) -> list[str]:
        whole = [pattern] if pattern in self.raters else pattern.split(",")
        return [name for part in whole if (name := part if part in self.raters else part.strip())]


_NOUN: dict[Kind, str] = {"labels": "a label", "numbers": "a number", "sets": "a set of labels"}


class _Cells(NamedTuple):
    """Rater and item (by place) and verdict of every cell, with what became of repeated answers."""

    places: list[tuple[int, int]]
    verdicts: list[Verdict]
    folded: Counter[str]
    undecided: Counter[str]


def _build(
    rows: Iterable[VerdictRow], *, criterion: str | None, cluster: str | None, rule: RuleLike, labels: Sequence[str]
) -> Panel:
    """Return the panel; see `Panel.from_rows`."""
    rows, chosen = _about_one(voting(rows), criterion), named_rule(rule)
    kind = _kind(rows)
    raters = {name: place for place, name in enumerate(dict.fromkeys(row.judge for row in rows))}
    items = {name: place for place, name in enumerate(dict.fromkeys(row.case_id for row in rows))}
    cells = _cells(rows, raters, items, chosen)
    places = np.array(cells.places, np.intp).reshape(-1, 2)
    order = np.lexsort((places[:, 1], places[:, 0]))
    universe = _universe(rows, kind, labels)
    if cluster is not None:
        _check_clusters(rows, items, cluster)
    belonging = Clusters.of_rows(rows, cluster or CLUSTER)
    together = cluster is not None or len(belonging) < len(items)
    return Panel(
        raters=tuple(raters),
        items=tuple(items),
        kind=kind,
        labels=universe,
        rater=places[order, 0],
        item=places[order, 1],
        values=_values(cells.verdicts, kind, universe)[order],
        clusters=_codes(belonging, items) if together else None,
        cluster_name=cluster or (_name_of(belonging) if together else None),
        copied=tuple(belonging.copied),
        failed=Counter(row.judge for row in rows if row.verdict is None),
        folded=cells.folded,
        undecided=cells.undecided,
        rule=chosen.name,
    )


def _about_one(rows: list[VerdictRow], criterion: str | None) -> list[VerdictRow]:
    if criterion is not None:
        return rows_about(rows, [criterion])
    known = sorted({row.criterion for row in rows} - {EVERY_CRITERION})
    if len(known) > 1:
        raise UsageError(f"there are {len(known)} criteria ({', '.join(known)}): choose one with --criterion.")
    return rows


def _kind_of(verdict: Verdict) -> Kind:
    return "sets" if isinstance(verdict, frozenset) else "numbers" if is_number(verdict) else "labels"


def _kind(rows: Iterable[VerdictRow]) -> Kind:
    """Return the one kind of all verdicts: '1' is not 1."""
    first: dict[Kind, VerdictRow] = {}
    for row in rows:
        if row.verdict is not None:
            first.setdefault(_kind_of(row.verdict), row)
    if len(first) > 1:
        (kind, row), (other_kind, other) = list(first.items())[:2]
        raise UsageError(
            f"{row.judge!r} answers with {_NOUN[kind]} ({verdict_text(row.verdict)!r:.40}) and {other.judge!r} with "
            f"{_NOUN[other_kind]} ({verdict_text(other.verdict)!r:.40}): use one kind, or read numbers as labels "
            "with --labels."
        )
    if not first:
        raise UsageError("no row holds a verdict, so there is nothing to compare.")
    return next(iter(first))


def _cells(rows: Sequence[VerdictRow], raters: dict[str, int], items: dict[str, int], rule: Rule) -> _Cells:
    """Return one verdict a rater and item; several answers are folded by the rule."""
    groups: dict[tuple[int, int], list[VerdictRow]] = {}
    for row in rows:
        groups.setdefault((raters[row.judge], items[row.case_id]), []).append(row)
    cells = _Cells([], [], Counter(), Counter())
    for place, group in groups.items():
        verdict = group[0].verdict
        if len(group) > 1:
            cells.folded[group[0].judge] += 1
            decision = decide(group, rule)
            verdict = decision.verdict if decision.status == "decided" else None
            cells.undecided[group[0].judge] += verdict is None
        if verdict is not None:
            cells.places.append(place)
            cells.verdicts.append(verdict)
    return cells


def _universe(rows: Iterable[VerdictRow], kind: Kind, labels: Iterable[str]) -> tuple[str, ...]:
    verdicts = {row.verdict for row in rows} - {None}
    if kind == "sets":
        return tuple(sorted({*labels, *(label for verdict in verdicts for label in verdict)}))  # type: ignore[union-attr]
    return tuple(sorted(map(str, verdicts))) if kind == "labels" else ()


def _values(verdicts: Sequence[Verdict], kind: Kind, universe: Sequence[str]) -> NDArray[Any]:
    if kind == "numbers":
        return np.array(verdicts, np.float64)
    if kind == "labels":
        code = {label: place for place, label in enumerate(universe)}
        return np.array([code[str(verdict)] for verdict in verdicts], np.intp)
    place = {verdict: number for number, verdict in enumerate(dict.fromkeys(verdicts))}
    marks = [[label in verdict for label in universe] for verdict in place if isinstance(verdict, frozenset)]
    return np.array(marks, np.bool_).reshape(len(place), len(universe))[[place[verdict] for verdict in verdicts]]


def _codes(belonging: Clusters, items: Iterable[str]) -> NDArray[np.intp]:
    """Return a whole number an item, equal where items belong together."""
    names = [belonging.of(item) for item in items]
    code = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return np.array([code[name] for name in names], np.intp)


def _name_of(belonging: Clusters) -> str:
    """Return what the clusters are of that nobody named: the column of clusters, or texts."""
    return CLUSTER if any(kind == CLUSTER for kind, _ in belonging.shared().values()) else "text"


def _check_clusters(rows: Iterable[VerdictRow], items: Iterable[str], column: str) -> None:
    """Refuse a column that does not say of every item what it belongs to."""
    found: dict[str, str] = {}
    for row in rows:
        if (value := row.attributes.get(column)) is None:
            continue
        if found.setdefault(row.case_id, str(value)) != str(value):
            earlier = found[row.case_id]
            raise UsageError(
                f"item {row.case_id!r} has two values of {column!r} ({earlier!r}, {value!r}): give it one."
            )
    missing = next((item for item in items if item not in found), None)
    if missing is not None:
        raise UsageError(
            f"item {missing!r} has no value of {column!r}: --cluster names a column filled for every item."
        )


def table_rows(
    records: Sequence[Record], *, source: str, columns: Columns, labels: bool = False
) -> tuple[list[VerdictRow], tuple[str, ...]]:
    """Return the rows of a table, and the labels its 0/1 columns or vectors stand for.

    Its other columns become attributes. A label list is JSON, or as Python prints it. A row of marks with a missing one
    is a missing answer.

    Raises:
        LogFormatError: columns cannot be told, or a cell is not what its column holds.

    """
    layout = layout_of(records, columns, source=source)
    kept = [name for name in records[0][1] if name not in {*layout.labels, layout.item, layout.rater}]
    plain: list[Record] = []
    for line, cells in records:
        shared = {name: cells[name] for name in kept if name in cells} | {"case_id": cells[layout.item]}
        for rater, verdict in _answers(cells, layout, f"{source}, line {line}"):
            if verdict is not None:
                plain.append((line, shared | {"judge": rater, "verdict": verdict}))
    if not plain:
        raise LogFormatError(f"{source}: no label is filled in.")
    lists = Lists(cells["verdict"] for _, cells in plain) if not layout.marks else Lists(())
    for _, cells in plain:
        if isinstance(cells["verdict"], list):
            cells["verdict"] = lists.labels_of(cells["verdict"])
    return decode(plain, source=source, labels=labels), layout.labels if layout.marks else lists.labels


def _answers(cells: Mapping[str, Any], layout: Layout, where: str) -> Iterator[tuple[str, object]]:
    if layout.rater is None:
        yield from ((name, _cell_or_none(cells.get(name))) for name in layout.labels)
        return
    verdict = _marked(cells, layout.labels, where) if layout.marks else _cell_or_none(cells[layout.labels[0]])
    if verdict is not None and not cell_text(cells[layout.rater]):
        raise LogFormatError(f"{where}: column {layout.rater!r} is empty: say who gave the label.")
    yield cells[layout.rater], verdict


def _cell_or_none(value: object) -> object:
    """Return a cell, None where it is missing."""
    return None if isinstance(value, str) and not cell_text(value) else listed(value)


def _marked(cells: Mapping[str, Any], columns: Sequence[str], where: str) -> list[str] | None:
    """Return the labels marked with 1; None where a mark is missing."""
    texts = {name: cell_text(cells.get(name)).casefold() for name in columns}
    wrong = next((name for name, text in texts.items() if text and text not in MARKS), None)
    if wrong is not None:
        raise LogFormatError(f"{where}: column {wrong!r} holds {cells.get(wrong)!r:.40}, where 0 or 1 is expected.")
    return None if "" in texts.values() else [name for name, text in texts.items() if MARKS[text]]
