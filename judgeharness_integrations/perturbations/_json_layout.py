"""JSON laid out anew without touching a value: every number and string keeps its spelling."""

from __future__ import annotations

import re

from judgeharness_integrations.perturbations._text import BLANKS

__all__ = ["relaid"]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++')
_INDENT = "  "


def relaid(text: str) -> str:
    """Return a JSON text on one line when it has several, and indented when it has one."""
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
    for part in parts:
        if part in {"}", "]"}:
            depth -= 1
            laid.append("\n" + _INDENT * depth)
        laid.append(part + " " if part == ":" else part)
        if part in {"{", "["}:
            depth += 1
        if part in {"{", "[", ","}:
            laid.append("\n" + _INDENT * depth)
    return "".join(laid)
