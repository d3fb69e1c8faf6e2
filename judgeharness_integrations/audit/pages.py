"""The pages of the audit as HTML, which items they are about, and what their forms say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import parse_qs, urlencode

from markupsafe import Markup, escape

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.pair import clean
from judgeharness_integrations.reporting.html.frame import environment, visible

from .source import Answering, AuditSource, Choice, Item, PairView, Tone

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request

_LABELS_HELD: Final = 12  # more different labels than these are no filter
PER_PAGE: Final = 100
_UNLABELLED: Final = "unlabelled"
_FILTER = "f-"  # before a column's name in an address
LONGEST_NOTE: Final = 4_000
_LONGEST_TEXT = 200
_LARGEST_BODY = 64 * 1024
_MOST_FIELDS = 200
View = Literal["overview", "plans", "conversations", "verification", "judges", "facts"]
VIEW_NAMES: Final[dict[View, str]] = {
    "overview": "Overview",
    "plans": "Plans",
    "conversations": "Conversations",
    "verification": "Verification",
    "judges": "Judges",
    "facts": "Fact check",
}
VIEW_KEYS: Final[dict[View, str]] = {
    "overview": "o",
    "plans": "p",
    "conversations": "r",
    "verification": "v",
    "judges": "g",
    "facts": "f",
}
COMMON_KEYS: Final[dict[str, str]] = {
    "j": "the next one of the list",
    "k": "the one before",
    "Space": "the next one without a label",
    "t": "write a note; it is kept with the label you give next, Esc leaves it",
    "u": "take the label back, or the one you have just given",
    "l": "the list",
    "?": "this help",
}
_LIST_KEYS: Final[dict[str, str]] = {
    "j": "the next line",
    "k": "the line before",
    "Enter": "open it",
    "Space": "the first one without a label",
    "?": "this help",
}
PAIR_KEYS: Final[dict[str, str]] = {
    "e": "open or fold all turns",
    "x": "open or fold the text that the conversations draw on",
    "h": "hide what tells the flaw, or show it: of a pair without a label, for this pair alone",
}


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
        return self._page(
            "list.html",
            title="All " + ("pairs" if self.source.kind == "pairs" else "questions"),
            selection=selection.on_page(page),
            progress=self.source.progress(),
            options=self._options(shown.items),
            rows=here,
            columns=_columns(shown.items, here),
            found=len(listed),
            every=len(shown.items),
            any_not_due=not all(item.due for item in shown.items),
            pages=pages,
            first_open=shown.first_open,
            last=shown.find(last) if last else None,
            keys=_LIST_KEYS,
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
        hidden = selection.hides(item)
        if hidden or _keeps_back(selection, self.source, item):
            views = views.without_judges()
        chosen = "conversations" if hidden else view if view in VIEW_NAMES else "overview"
        number = turn if turn in views.rounds else views.pair.conditions.flawed_round
        return self._page(
            f"{chosen}.html",
            views=views,
            view=chosen,
            hidden=hidden,
            view_names=VIEW_NAMES,
            view_keys=VIEW_KEYS,
            pair_keys=PAIR_KEYS,
            disputed=views.disputed(number) if chosen == "facts" else None,
            **context,
        )

    def _row(self, item: Item, selection: Selection) -> Item:
        """Return an item with every column that may be seen: none that tells the flaw, or what judges said of it."""
        if selection.hides(item):
            return replace(
                item, columns={name: item.columns[name] for name in item.columns if name not in item.telling}
            )
        judged = {} if _keeps_back(selection, self.source, item) else item.judged
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
            unlabelled=_UNLABELLED,
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
        counted = [(_UNLABELLED, labels.count(None)), *((value, labels.count(value)) for value in map(str, given))]
        return [*found, ("label", "label", counted)]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """An order, the values that columns must have, the label items must have, whose they must be, and a page.

    `label` is one label, `unlabelled`, or empty for all; `due` keeps the annotator's own items alone. What tells the
    flaw is hidden until an item has a label: with `blind` it stays so, and of the item whose id is `bared`, and of no
    other one, it is shown before.
    """

    order: str
    filters: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    due: bool = False
    blind: bool = False
    bared: str = ""
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
            bared=params.get("id", "") if params.get("blind") == "0" else "",
            page=max(1, int(page)) if page.isascii() and page.isdigit() and len(page) < 7 else 1,  # noqa: PLR2004
        )

    def address(self, path: str, **more: object) -> str:
        """Return a path with everything that differs from the plain list, and what else is to be in it."""
        said: dict[str, Any] = {"order": self.order}
        said |= {_FILTER + name: value for name, value in self.filters.items()}
        said |= {"label": self.label or None, "due": "1" if self.due else None}
        said |= {"blind": "1" if self.blind else "0" if self.bared and self.bared == more.get("id") else None}
        said |= {"page": self.page if self.page > 1 else None} | more
        kept = {name: value for name, value in said.items() if value not in (None, "")}
        return f"{path}?{urlencode(kept, errors='surrogatepass')}"

    def on_page(self, page: int) -> Selection:
        """Return the same with another page."""
        return replace(self, page=page)

    def hides(self, item: Item) -> bool:
        """Whether what tells the flaw of an item is hidden."""
        return self.blind or (item.label is None and self.bared != item.item_id)

    def turned(self, item: Item) -> Selection:
        """Return the same, showing what of an item is hidden, and hiding what is not.

        Where its label decides as it is wanted nothing else does, or who turned twice would see the next flaw at once.
        """
        plain = replace(self, blind=False, bared="")
        if plain.hides(item) != self.hides(item):
            return plain
        return replace(plain, bared=item.item_id) if self.hides(item) else replace(plain, blind=True)

    def takes(self, item: Item) -> bool:
        """Whether the columns of an item are those asked for; its label is not looked at."""
        return all(item.columns.get(name) == value for name, value in self.filters.items()) and (
            item.due or not self.due
        )

    def lists(self, item: Item) -> bool:
        """Whether the list holds an item."""
        if not self.takes(item):
            return False
        if self.label == _UNLABELLED:
            return item.label is None
        return not self.label or item.label == self.label


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
    def first_open(self) -> Item | None:
        """The first item of the list that is to be labelled."""
        return next((item for item in self.listed if item.label is None and item.due), None)

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
        if self.selection.label not in ("", _UNLABELLED):
            return self.beside(item_id)[1]
        return self.next_open(item_id)

    def _around(self, item_id: str) -> tuple[Sequence[Item], Sequence[Item]]:
        place = next((at for at, item in enumerate(self.items) if item.item_id == item_id), 0)
        return self.items[:place], self.items[place + 1 :]


class FormError(UsageError):
    """A form that cannot be taken; `status` is the HTTP status that says so."""

    def __init__(self, sentence: str, *, status: int = 400) -> None:
        """Say what is wrong and what to do."""
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class Posted:
    """A label and the note beside it; `value` None takes the label back."""

    value: str | None
    note: str


async def posted_form(request: Request) -> Mapping[str, Sequence[str]]:
    """Return field -> values of an encoded form.

    Raises:
        FormError: it is too large, or none.

    """
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _LARGEST_BODY:
            raise FormError("This is too long for a label: shorten the note.", status=413)
    try:
        return parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise FormError("This is no form of this page: load the page again.") from error


def read_label(form: Mapping[str, Sequence[str]], answering: Answering) -> Posted:
    """Return the label of a form.

    Raises:
        FormError: it is not among those that may be given, or the note is too long.

    """
    # browsers send the line breaks of a note as \r\n, and count each as one character
    note = clean(form.get("note", [""])[0].replace("\r\n", "\n")).strip()
    if len(note) > LONGEST_NOTE:
        raise FormError(f"A note has up to {LONGEST_NOTE:,} characters: shorten it.")
    if form.get("take_back"):
        return Posted(value=None, note=note)
    values = [clean(value).strip() for value in form.get("value", ())]
    return Posted(value=_value(values, answering), note=note)


def keys_of(choice: Choice, *, taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the keys that give a label: its own, and its letter unless the page needs that."""
    used = {key.casefold() for key in (*COMMON_KEYS, *PAIR_KEYS, *taken)}
    alias = choice.alias if choice.alias.casefold() not in used else ""
    return tuple(key for key in (choice.key, alias) if key)


def rendered(template: str, **words: Any) -> str:
    """Return a page; a text that cannot be encoded stands as `[U+D800]`."""
    return _environment().get_template(template).render(words)


def marked(text: str, passages: Sequence[str]) -> Markup:
    """Return an escaped text in which passages are marked where they stand, whatever their spaces and line breaks."""
    patterns = [r"\s+".join(map(re.escape, passage.split())) for passage in passages if passage.strip()]
    if not patterns:
        return escape(visible(text))
    longest_first = "|".join(sorted(patterns, key=len, reverse=True))
    parts = re.split(f"({longest_first})", text)
    shown = [escape(visible(part)) for part in parts]
    return Markup().join(
        Markup("<mark>{}</mark>").format(part) if place % 2 else part for place, part in enumerate(shown)
    )


def _in_order(entry: tuple[str, int]) -> tuple[int, str]:
    """Order numbers as numbers."""
    value = entry[0]
    return (int(value) if value.isascii() and value.isdigit() and len(value) < 10 else 0, value)  # noqa: PLR2004


def _columns(items: Iterable[Item], shown: Iterable[Item]) -> list[str]:
    """Return the names of the columns that rows show, in the order of all there are, whichever row tells more."""
    told = {name for item in shown for name in item.columns}
    return [
        name for name in dict.fromkeys(name for item in items for name in (*item.columns, *item.judged)) if name in told
    ]


def _keeps_back(selection: Selection, source: AuditSource, item: Item) -> bool:
    """Whether what judges said of an item is not to be seen: the order is a blind one, and it has no label yet."""
    return selection.order in source.blind_orders and item.label is None


def _first(items: Iterable[Item], fits: Any) -> Item | None:
    return next((item for item in items if fits(item)), None)


def _value(values: Sequence[str], answering: Answering) -> str:
    known = [choice.value for choice in answering.choices]
    if answering.kind == "several":
        if not values or not {*values} <= {*known, ""}:
            raise FormError(f"Choose some of {', '.join(known)}.")
        return "; ".join(value for value in known if value in values) or ";"
    if len(values) != 1:
        raise FormError("Give one label.")
    if answering.kind == "one" and values[0] not in known:
        raise FormError(f"Choose one of {', '.join(known)}.")
    if answering.kind == "number":
        return _number(values[0], answering)
    if not values[0] or len(values[0]) > _LONGEST_TEXT:
        raise FormError(f"A label has 1 to {_LONGEST_TEXT} characters.")
    return values[0]


def _number(text: str, answering: Answering) -> str:
    low, high = answering.low, answering.high
    ends = "" if low is None or high is None else f" from {low:g} to {high:g}"
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    fits = math.isfinite(number) and (low is None or number >= low) and (high is None or number <= high)
    if not fits or not text.isascii() or "_" in text or "e" in text.casefold():
        raise FormError(f"Give a number{ends}.")
    return text


@cache
def _environment() -> Environment:
    made = environment("judgeharness_integrations.audit")
    made.filters |= {"marked": marked, "spaced": _spaced}
    return made


def _spaced(name: str) -> str:
    """Return the name of a type or state as words."""
    return name.replace("_", " ")
