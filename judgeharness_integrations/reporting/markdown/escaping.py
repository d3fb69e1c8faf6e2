"""Texts of judges and cases inside GitHub's Markdown, where they must mean nothing."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import Final

from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["details", "escaped", "preformatted", "table"]

# What GitHub looks for in a text after Markdown was read, where an escaped character is a plain one again. A space
# without a width behind it keeps mentions, references to issues, names of emoji, addresses and mail from being linked.
_LOOKED_FOR: Final = re.compile(r"(@|#|\bGH-|:|www\.)(?=\S)", re.IGNORECASE)
_NO_WIDTH: Final = "\u200b"
_ENTITIES: Final = {ord(one): f"&#{ord(one)};" for one in _NO_WIDTH + "\\`*_{}[]()~|$!^=&<>\"'"}
_AT_START: Final = re.compile(r"[-+#]|\d+(?=[.)])")  # a list or heading, where the text begins a line


def escaped(text: str, limit: int = 120) -> str:
    """Return a text on one line that stands for itself: no markup, link, image, mention or cell of its own."""
    shown = _LOOKED_FOR.sub(rf"\1{_NO_WIDTH}", safe_text(text, limit))
    start = found[0] if (found := _AT_START.match(shown)) else ""
    return "".join(f"&#{ord(one)};" for one in start) + shown[len(start) :].translate(_ENTITIES)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> list[str]:
    """Return the lines of a table of cells that were escaped; the first `texts` columns are texts, the others right."""
    marks = [":---" if place < texts else "---:" for place in range(len(columns))]
    return [f"| {' | '.join(cells)} |" for cells in (columns, marks, *rows)]


def preformatted(lines: Iterable[str]) -> list[str]:
    """Return lines of plain text as they are."""
    shown = (html.escape(safe_text(line, 400), quote=True) for line in lines)
    return ["<pre>", *(line or "&nbsp;" for line in shown), "</pre>"]


def details(title: str, lines: Iterable[str]) -> list[str]:
    """Return lines that are folded away under a title, which was escaped."""
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>", ""]
