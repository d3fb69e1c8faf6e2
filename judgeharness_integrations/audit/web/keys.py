"""What each key does; no label takes one of these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from judgeharness_integrations.audit.source import Choice

__all__ = ["COMMON_KEYS", "LIST_KEYS", "PAIR_KEYS", "VIEW_KEYS", "VIEW_NAMES", "View", "keys_of"]

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
LIST_KEYS: Final[dict[str, str]] = {
    "j": "the next line",
    "k": "the line before",
    "Enter": "open it",
    "Space": "the first one without a label",
    "?": "this help",
}
PAIR_KEYS: Final[dict[str, str]] = {
    "e": "open or fold all turns",
    "x": "open or fold the text that the conversations draw on",
    "h": "hide or show what tells the flaw",
}


def keys_of(choice: Choice, *, taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the keys that give a label: its own, and its letter unless the page needs that."""
    used = {key.casefold() for key in (*COMMON_KEYS, *PAIR_KEYS, *taken)}
    alias = choice.alias if choice.alias.casefold() not in used else ""
    return tuple(key for key in (choice.key, alias) if key)
