"""Rows of a verdict log -> a panel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.deciding import decide
from judgeharness_integrations.aggregation.grouping import EVERY_CRITERION
from judgeharness_integrations.aggregation.rules import Rule, RuleLike
from judgeharness_integrations.aggregation.rules import rule as named_rule
from judgeharness_integrations.agreement.panels.panel import Kind, Panel
from judgeharness_integrations.replay import rows_about
from judgeharness_integrations.verdictlog.probenames import voting
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, is_number, verdict_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["build_panel"]

_NOUN: dict[Kind, str] = {"labels": "a label", "numbers": "a number", "sets": "a set of labels"}


class _Cells(NamedTuple):
    """Rater and item (by place) and verdict of every cell, with what became of repeated answers."""

    places: list[tuple[int, int]]
    verdicts: list[Verdict]
    folded: Counter[str]
    undecided: Counter[str]


def build_panel(
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
    return Panel(
        raters=tuple(raters),
        items=tuple(items),
        kind=kind,
        labels=universe,
        rater=places[order, 0],
        item=places[order, 1],
        values=_values(cells.verdicts, kind, universe)[order],
        clusters=None if cluster is None else _clusters(rows, items, cluster),
        cluster_name=cluster,
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


def _clusters(rows: Iterable[VerdictRow], items: dict[str, int], column: str) -> NDArray[np.intp]:
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
    code = {name: place for place, name in enumerate(dict.fromkeys(found.values()))}
    return np.array([code[found[item]] for item in items], np.intp)
