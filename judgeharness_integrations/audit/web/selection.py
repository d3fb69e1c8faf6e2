"""Which items a page is about: order, filters, page and view, as an address carries them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlencode

from judgeharness_integrations.audit.source import AuditSource, Item

__all__ = ["PER_PAGE", "UNLABELLED", "Selection", "Shown", "keeps_back"]

PER_PAGE: Final = 100
UNLABELLED: Final = "unlabelled"
_FILTER = "f-"  # before a column's name in an address


@dataclass(frozen=True, kw_only=True)
class Selection:
    """An order, the values that columns must have, the label items must have, whose they must be, and a page.

    `label` is one label, `unlabelled`, or empty for all; `due` keeps the annotator's own items alone. `blind`: nothing
    that tells the flaw is shown.
    """

    order: str
    filters: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    due: bool = False
    blind: bool = False
    page: int = 1

    @classmethod
    def of(cls, params: Mapping[str, str], source: AuditSource) -> Selection:
        """Return what an address says; what it cannot mean is as if it said nothing."""
        order = params.get("order", "")
        page = params.get("page", "")
        named = {name: params.get(_FILTER + name, "") for name in source.filters}
        return cls(
            order=order if order in source.orders else source.orders[0],
            filters={name: value for name, value in named.items() if value},
            label=params.get("label", ""),
            due=params.get("due") == "1",
            blind=params.get("blind") == "1",
            page=max(1, int(page)) if page.isascii() and page.isdigit() and len(page) < 7 else 1,  # noqa: PLR2004
        )

    def address(self, path: str, **more: object) -> str:
        """Return a path with everything that differs from the plain list, and what else is to be in it."""
        said: dict[str, Any] = {"order": self.order}
        said |= {_FILTER + name: value for name, value in self.filters.items()}
        said |= {"label": self.label or None, "due": "1" if self.due else None}
        said |= {"blind": "1" if self.blind else None}
        said |= {"page": self.page if self.page > 1 else None} | more
        kept = {name: value for name, value in said.items() if value not in (None, "")}
        return f"{path}?{urlencode(kept, errors='surrogatepass')}"

    def on_page(self, page: int) -> Selection:
        """Return the same with another page."""
        return replace(self, page=page)

    def turned(self) -> Selection:
        """Return the same, blind if it was not."""
        return replace(self, blind=not self.blind)

    def takes(self, item: Item) -> bool:
        """Whether the columns of an item are those asked for; its label is not looked at."""
        return all(item.columns.get(name) == value for name, value in self.filters.items()) and (
            item.due or not self.due
        )

    def lists(self, item: Item) -> bool:
        """Whether the list holds an item."""
        if not self.takes(item):
            return False
        if self.label == UNLABELLED:
            return item.label is None
        return not self.label or item.label == self.label


def keeps_back(selection: Selection, source: AuditSource, item: Item) -> bool:
    """Whether what judges said of an item is not to be seen: the order is a blind one, and it has no label yet."""
    return selection.order in source.blind_orders and item.label is None


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The items of a source in the order of a selection, and who is beside whom."""

    selection: Selection
    items: tuple[Item, ...]

    @classmethod
    def of(cls, selection: Selection, source: AuditSource) -> Shown:
        """Return what is shown at this moment."""
        known = {item.item_id: item for item in source.items()}
        return cls(selection=selection, items=tuple(known[name] for name in source.ordered(selection.order)))

    @property
    def listed(self) -> tuple[Item, ...]:
        """The items that the list holds."""
        return tuple(item for item in self.items if self.selection.lists(item))

    def find(self, item_id: str) -> Item | None:
        """Return the item of an id."""
        return next((item for item in self.items if item.item_id == item_id), None)

    def beside(self, item_id: str) -> tuple[Item | None, Item | None]:
        """Return the items that the list holds before and after one, which it need not hold itself."""
        before, after = self._around(item_id)
        lists = self.selection.lists
        return _first(reversed(before), lists), _first(after, lists)

    def next_open(self, item_id: str) -> Item | None:
        """Return the next item without a label that the columns allow, from the top again after the last.

        Behind an item that is due only those come that are due.
        """
        before, after = self._around(item_id)
        here = self.find(item_id)
        due = here is not None and here.due

        def is_open(item: Item) -> bool:
            return item.label is None and self.selection.takes(item) and (item.due or not due)

        return _first([*after, *before], is_open)

    def following(self, item_id: str) -> Item | None:
        """Return where to go once an item is labelled: on in a list of labelled ones, else to the next open one."""
        if self.selection.label not in ("", UNLABELLED):
            return self.beside(item_id)[1]
        return self.next_open(item_id)

    def _around(self, item_id: str) -> tuple[Sequence[Item], Sequence[Item]]:
        place = next((at for at, item in enumerate(self.items) if item.item_id == item_id), 0)
        return self.items[:place], self.items[place + 1 :]


def _first(items: Iterable[Item], fits: Any) -> Item | None:
    return next((item for item in items if fits(item)), None)
