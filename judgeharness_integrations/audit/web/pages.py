"""The pages as HTML: a list, an item in its views, and a sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from judgeharness_integrations.audit.pairview import PairView
from judgeharness_integrations.audit.source import AuditSource, Choice, Item, Tone
from judgeharness_integrations.audit.web.environment import rendered
from judgeharness_integrations.audit.web.forms import LONGEST_NOTE
from judgeharness_integrations.audit.web.keys import (
    COMMON_KEYS,
    LIST_KEYS,
    PAIR_KEYS,
    VIEW_KEYS,
    VIEW_NAMES,
    keys_of,
)
from judgeharness_integrations.audit.web.selection import PER_PAGE, UNLABELLED, Selection, Shown, keeps_back

__all__ = ["Pages"]

_LABELS_HELD: Final = 12  # more different labels than these are no filter


@dataclass(frozen=True, kw_only=True)
class Pages:
    """Writes the pages of a source. `csrf` stands in every form."""

    source: AuditSource
    csrf: str

    def listing(self, selection: Selection, *, last: str) -> str:
        """Return the list of items, a page of it at a time; `last`: id of the item that was labelled just now."""
        shown = Shown.of(selection, self.source)
        listed = shown.listed
        pages = max(1, -(-len(listed) // PER_PAGE))
        page = min(selection.page, pages)
        here = [self._row(item, selection) for item in listed[(page - 1) * PER_PAGE : page * PER_PAGE]]
        opened = next((item for item in listed if item.label is None and item.due), None)
        return self._page(
            "list.html",
            title="All " + ("pairs" if self.source.kind == "pairs" else "questions"),
            selection=selection.on_page(page),
            progress=self.source.progress(),
            options=self._options(shown.items),
            rows=here,
            columns=list(dict.fromkeys(name for item in here for name in item.columns)),
            found=len(listed),
            every=len(shown.items),
            any_not_due=not all(item.due for item in shown.items),
            pages=pages,
            first_open=opened,
            last=shown.find(last) if last else None,
            keys=LIST_KEYS,
        )

    def item(self, item: Item, selection: Selection, *, view: str, turn: int | None, last: str) -> str:
        """Return an item in one of its views.

        Args:
            item: the item.
            selection: the list it is looked at from.
            view: of a pair; the first one where there is none of that name.
            turn: the one whose facts are checked; the flawed one when None.
            last: id of the item that was labelled just now, empty for none.

        """
        shown = Shown.of(selection, self.source)
        before, after = shown.beside(item.item_id)
        answering = self.source.answering(item.item_id)
        views = self.source.views(item.item_id)
        listed = [one.item_id for one in shown.listed]
        context: dict[str, Any] = {
            "title": item.title,
            "selection": selection,
            "item": item,
            "position": listed.index(item.item_id) + 1 if item.item_id in listed else None,
            "found": len(listed),
            "before": before,
            "after": after,
            "next_open": shown.next_open(item.item_id),
            "last": shown.find(last) if last else None,
            "answering": answering,
            "progress": self.source.progress(),
            "longest_note": LONGEST_NOTE,
            "keys": COMMON_KEYS,
        }
        if not isinstance(views, PairView):
            return self._page("case.html", views=views, view="", **context)
        if keeps_back(selection, self.source, item):
            views = views.without_judges()
        chosen = "conversations" if selection.blind else view if view in VIEW_NAMES else "overview"
        number = turn if turn in views.rounds else views.pair.conditions.flawed_round
        return self._page(
            f"{chosen}.html",
            views=views,
            view=chosen,
            view_names=VIEW_NAMES,
            view_keys=VIEW_KEYS,
            pair_keys=PAIR_KEYS,
            disputed=views.disputed(number) if chosen == "facts" else None,
            **context,
        )

    def _row(self, item: Item, selection: Selection) -> Item:
        """Return an item with every column that may be seen."""
        judged = {} if keeps_back(selection, self.source, item) else item.judged
        return replace(item, columns={**item.columns, **judged})

    def sentence(self, text: str) -> str:
        """Return a page with one sentence, as for something that is not there."""
        return self._page("message.html", title="This did not work", sentence=text, keys={})

    def _page(self, template: str, **context: Any) -> str:
        return rendered(
            template,
            source=self.source,
            csrf=self.csrf,
            keys_of=self._keys,
            tone_of=self._tone,
            unlabelled=UNLABELLED,
            **context,
        )

    def _keys(self, choice: Choice) -> tuple[str, ...]:
        return keys_of(choice, taken=VIEW_KEYS.values() if self.source.kind == "pairs" else ())

    def _tone(self, label: str) -> Tone:
        tones: dict[str, Tone] = {choice.value: choice.tone for choice in self.source.choices}
        return tones.get(label, "plain")

    def _options(self, items: tuple[Item, ...]) -> list[tuple[str, str, list[tuple[str, int]]]]:
        """Return (name, parameter, values with their counts) of each filter that has something to choose."""
        found = []
        for name in self.source.filters:
            values = [item.columns.get(name, "") for item in items]
            counts = sorted(({value: values.count(value) for value in {*values} - {""}}).items(), key=_in_order)
            if len(counts) > 1:
                found.append((name, f"f-{name}", counts))
        labels = [item.label for item in items]
        given = [choice.value for choice in self.source.choices] or sorted({*labels} - {None}, key=str)[:_LABELS_HELD]
        counted = [(UNLABELLED, labels.count(None)), *((value, labels.count(value)) for value in map(str, given))]
        return [*found, ("label", "label", counted)]


def _in_order(entry: tuple[str, int]) -> tuple[int, str]:
    """Order numbers as numbers."""
    value = entry[0]
    return (int(value) if value.isascii() and value.isdigit() and len(value) < 10 else 0, value)  # noqa: PLR2004
