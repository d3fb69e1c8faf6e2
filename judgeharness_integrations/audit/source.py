"""What the audit page shows and where a label goes: the seam between the page and what is labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from judgeharness_integrations.audit.pairview import PairView

__all__ = ["Answering", "AuditSource", "CaseView", "Choice", "Fact", "Item", "Progress", "Tone"]

Tone: TypeAlias = Literal["good", "warn", "bad", "plain"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One label: `value` is what is kept, `key` the one character that gives it, `name` what the button says.

    A source takes keys from `1` to `9` in the order of its choices; `alias` is a second key, a letter of the name.
    """

    value: str
    key: str
    name: str
    definition: str = ""
    alias: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, kw_only=True)
class Answering:
    """What may be said about one item.

    `one` of the choices, `several` of them (kept as one text, joined by `; `), a `number` between `low` and `high`
    where they are given, or any short `text`.
    """

    kind: Literal["one", "several", "number", "text"] = "one"
    choices: tuple[Choice, ...] = ()
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing to label, as the list shows it.

    Args:
        item_id: any text; it stands in addresses, so that of a blind source tells nothing.
        title: what people see instead.
        columns: name -> value, of those that `AuditSource.filters` name and others that are only shown.
        judged: further columns, of what judges said; `AuditSource.blind_orders` keep them back.
        label: what the annotator said last, None when nothing or when it was taken back.
        note: the annotator's, beside the label.
        due: it is the annotator's to label; others can be looked at and labelled too.

    """

    item_id: str
    title: str
    columns: Mapping[str, str] = field(default_factory=dict)
    judged: Mapping[str, str] = field(default_factory=dict)
    label: str | None = None
    note: str = ""
    due: bool = True


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A line above the list, as (`noise rate`, `6.7 % [2.1, 16.8]`, `4 of 60 of the uniform sample`)."""

    name: str
    text: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far the annotator is: `labelled` of the `items` that are due, how often each label was given at all."""

    labelled: int
    items: int
    counts: Mapping[str, int] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CaseView:
    """A plain case: what is asked, and (heading, text) of what is read, without judge and author.

    `side_by_side` headings are those of two answers that are compared.
    """

    question: str
    description: str = ""
    texts: tuple[tuple[str, str], ...] = ()
    side_by_side: tuple[str, ...] = ()


class AuditSource(Protocol):
    """What is labelled by one annotator. The page calls it from one thread at a time.

    `items`, `ordered` and `progress` say what stands in the files at that moment: another tab may have labelled.
    """

    @property
    def kind(self) -> Literal["pairs", "cases"]:
        """Which pages an item has: `views` gives a `PairView` or a `CaseView`."""
        ...

    @property
    def title(self) -> str:
        """What is labelled, in a few words: the folder's name."""
        ...

    @property
    def annotator(self) -> str:
        """Who labels."""
        ...

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The labels of all items, defined on the list; empty where items differ or take numbers."""
        ...

    @property
    def filters(self) -> tuple[str, ...]:
        """The columns of items by which the list can be filtered."""
        ...

    @property
    def orders(self) -> tuple[str, ...]:
        """Names of the orders of items; the first is the one people begin with."""
        ...

    @property
    def blind_orders(self) -> tuple[str, ...]:
        """Those of the orders in which nothing of what judges said is shown of an item without a label."""
        ...

    def items(self) -> Sequence[Item]:
        """Return every item, each once."""
        ...

    def ordered(self, order: str) -> Sequence[str]:
        """Return the ids of all items in an order of `orders`."""
        ...

    def answering(self, item_id: str) -> Answering:
        """Return what may be said about an item that there is."""
        ...

    def views(self, item_id: str) -> PairView | CaseView:
        """Return what the pages of an item that there is show."""
        ...

    def label(self, item_id: str, value: str | None, note: str) -> None:
        """Keep a label that `answering` allows, or take the last one back; it is in the file when this returns.

        Raises:
            UsageError: it cannot be kept after all; the sentence is shown.

        """
        ...

    def progress(self) -> Progress:
        """Return how far the annotator is."""
        ...
