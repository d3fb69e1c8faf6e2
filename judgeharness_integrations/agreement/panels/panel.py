"""A panel: who said what about which item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from judgeharness_integrations.aggregation.rules import RuleLike
    from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["DEFAULT_RULE", "Kind", "Panel"]

Kind: TypeAlias = Literal["labels", "numbers", "sets"]
DEFAULT_RULE = "majority | median"
_GLOB = frozenset("*?[")


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """The answers of people and judges about items: one cell a rater and item, missing ones absent.

    `rater`, `item` and `values` hold the cells, sorted by rater, then item: `rater` (cells,) indexes `raters`, `item`
    (cells,) indexes `items`; `values` are codes into `labels` (cells,), numbers (cells,) in units of the score, or
    marks (cells, labels) of sets. `labels` is sorted and covers the whole input. `clusters` (items,) says which items
    belong together, by the column `cluster_name`. `failed` counts answers without a verdict, `folded` the items a
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
            cluster: the column that says which items belong together.
            rule: folds several answers of one rater about one item.
            labels: labels of sets that exist, also where nobody marked them.

        Raises:
            UsageError: there are several criteria, labels and numbers are mixed, or an item has no or two clusters.

        """
        from judgeharness_integrations.agreement.panels.building import build_panel  # noqa: PLC0415 - it needs this class

        return build_panel(rows, criterion=criterion, cluster=cluster, rule=rule, labels=labels)

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
        from judgeharness_integrations.agreement.panels.annotations import annotation_rows  # noqa: PLC0415 - the same

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
