"""A conversation as files of other people hold it: messages, rounds, or a text with markers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.benchmark.pair import Conversation, Turn
from judgeharness_integrations.benchmark.records import clean

__all__ = ["conversation_of", "unpacked"]

_ROLES: Final = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant"}
_MARKER: Final = re.compile(
    r"^[ \t]*(?:\[(?:round|turn) [0-9]+\][ \t]*)?\**(user|human|assistant|ai|model)\**[ \t]*:\**[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_TAKES: Final = (
    "give a list of {role, content} or {user, assistant}, or a text with User: and Assistant: before each turn"
)

Message = tuple[str, str]


def conversation_of(value: Any, *, where: str) -> Conversation:
    """Return the conversation that JSON holds: user and assistant in turns, the user first.

    Args:
        value: a list of `{role, content}` (or `{from, value}`), a list of `{user, assistant}`, an object with such a
            list under `messages` or `turns`, a text with `User:` and `Assistant:` at the beginning of lines, or any of
            these as a text of JSON.
        where: file, line and field, for errors.

    Raises:
        CaseError: it is none of them, somebody else speaks, or the turns do not alternate.

    """
    value = unpacked(value)
    if isinstance(value, Mapping):
        value = next((value[name] for name in ("messages", "turns") if name in value), value)
    if isinstance(value, str):
        messages = list(_marked(value, where))
    elif isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value):
        messages = [message for number, entry in enumerate(value, 1) for message in _entry(entry, number, where)]
    else:
        raise CaseError(f"{where} is no conversation: {_TAKES}.")
    return Conversation(turns=tuple(_turns(messages, where)))


def unpacked(value: Any) -> Any:
    """Return what a text of JSON holds, as tables keep lists and objects; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value  # [Round 1] User: ...


def _marked(text: str, where: str) -> Iterator[Message]:
    found = _speakers(text)
    if not found or text[: found[0].start()].strip():
        raise CaseError(f"{where} is a text that does not begin with User: or Assistant: : {_TAKES}.")
    ends = [*(match.start() for match in found[1:]), len(text)]
    for match, end in zip(found, ends, strict=True):
        yield _ROLES[match.group(1).lower()], text[match.end() : end].strip()


def _speakers(text: str) -> list[re.Match[str]]:
    """Return where somebody begins to speak: what names each role first does so later, not `Model: X` in an answer."""
    names: dict[str, str] = {}
    found = list(_MARKER.finditer(text))
    for match in found:
        names.setdefault(_ROLES[match[1].lower()], match[1].lower())
    return [match for match in found if match[1].lower() in names.values()]


def _entry(entry: Mapping[str, Any], number: int, where: str) -> Iterator[Message]:
    here = f"{where}, entry {number}"
    if "user" in entry and "assistant" in entry:
        yield "user", _text(entry["user"], here)
        yield "assistant", _text(entry["assistant"], here)
        return
    role, said = (next((entry[name] for name in names if name in entry), None) for names in _KEYS)
    if not isinstance(role, str) or role.strip().lower() not in _ROLES:
        who = "no role" if role is None else f"the role {role!r:.40}"
        raise CaseError(f"{here} has {who}: only user and assistant speak.")
    yield _ROLES[role.strip().lower()], _text(said, here)


_KEYS: Final = (("role", "from"), ("content", "value"))


def _text(value: Any, where: str) -> str:
    """Return a text, or the texts of the parts of a message."""
    if isinstance(value, list) and value and all(isinstance(part, Mapping) and "text" in part for part in value):
        value = "\n".join(str(part["text"]) for part in value)
    if not isinstance(value, str) or not value.strip():
        raise CaseError(f"{where} says nothing: give its text.")
    return clean(value)


def _turns(messages: Sequence[Message], where: str) -> Iterator[Turn]:
    for place, (role, _) in enumerate(messages):
        if role != ("user", "assistant")[place % 2]:
            raise CaseError(f"{where}, message {place + 1} is the {role}'s: user and assistant take turns, user first.")
    if len(messages) % 2:
        raise CaseError(f"{where} ends with the user: give the assistant's last answer.")
    for number, place in enumerate(range(0, len(messages), 2), start=1):
        user, assistant = messages[place][1], messages[place + 1][1]
        if not user or not assistant:
            raise CaseError(f"{where}, round {number} is empty: give what user and assistant say.")
        yield Turn(round=number, user=clean(user), assistant=clean(assistant))
