"""JSON laid out anew without touching a value: every number and string keeps its spelling."""

from __future__ import annotations

import re

from judgeharness_integrations.perturbations._text import BLANKS

__all__ = ["relaid"]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++')
_INDENT = "  "
_OPEN = frozenset("{[")
_CLOSE = frozenset("}]")


def relaid(text: str) -> str:
    """Return a JSON text on one line when it has several, and on several when it has one."""
    body = text.strip(BLANKS)
    start = text.index(body)
    parts = _TOKEN.findall(body)
    changed = _compact(parts) if "\n" in body else _indented(parts)
    return text[:start] + changed + text[start + len(body) :]


def _compact(parts: list[str]) -> str:
    return "".join(part + " " if part in {",", ":"} else part for part in parts)


def _indented(parts: list[str]) -> str:
    laid: list[str] = []
    depth = 0
    for before, part, after in zip(["", *parts], parts, [*parts[1:], ""], strict=False):
        if part in _CLOSE:
            depth -= 1
        if part in _CLOSE and (before not in _OPEN or not depth):
            laid.append("\n" + _INDENT * depth)
        laid.append(part + " " if part == ":" else part)
        if part in _OPEN:
            depth += 1
        if part == "," or (part in _OPEN and after not in _CLOSE):
            laid.append("\n" + _INDENT * depth)
    return "".join(laid)
