"""Texts of judges, cases and people on a page: what cannot be seen is made visible, what could act is escaped."""

from __future__ import annotations

import json
import re
from typing import Any

from markupsafe import Markup, escape

__all__ = ["embedded_json", "isolated", "visible"]

# Controls, what overrides the direction of other text, what has no width, lone surrogates. Marks that Arabic, Hebrew,
# Persian and emoji need (LRM, RLM, ALM, ZWJ, ZWNJ) reorder nothing outside of their isolated element.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u180e\u200b\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_BREAKS = re.compile("\r\n?|[\u2028\u2029]")
_ACTIVE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def visible(text: str) -> str:
    """Return a text in which unseen characters stand as `[U+202E]`; line breaks of every kind become a newline."""
    return _UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", _BREAKS.sub("\n", text))


def isolated(text: object) -> Markup:
    """Return an escaped text that cannot reorder what stands around it."""
    return Markup("<bdi>{}</bdi>").format(escape(visible(str(text))))


def embedded_json(value: Any) -> Markup:
    """Return JSON that may stand inside a script element: nothing in it ends the element or starts another one.

    Texts are made `visible`, so it holds neither lone surrogates nor U+2028 and U+2029.
    """
    text = json.dumps(_seen(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(re.sub("[<>&]", lambda found: _ACTIVE[found[0]], text))  # noqa: S704 - escaped right here


def _seen(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _seen(part) for key, part in value.items()}
    return [_seen(part) for part in value] if isinstance(value, (list, tuple)) else value
