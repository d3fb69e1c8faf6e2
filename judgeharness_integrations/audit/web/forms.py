"""What a posted form says: a label that may be given, and a note that is not too long."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.audit.source import Answering
from judgeharness_integrations.benchmark.records import clean

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["LONGEST_NOTE", "FormError", "Posted", "posted_form", "read_label"]

LONGEST_NOTE: Final = 4_000
_LONGEST_TEXT = 200
_LARGEST_BODY = 64 * 1024
_MOST_FIELDS = 200


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
