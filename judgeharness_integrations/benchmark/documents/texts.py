"""Plain text and Markdown as documents."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations._yaml import load_yaml
from judgeharness_integrations.benchmark.documents.chunking import unwrapped
from judgeharness_integrations.benchmark.documents.content import Content, Passage, text_of_file

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ["read_markdown", "read_text"]

_FRONT: Final = re.compile(r"\A---[ \t]*\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_KEY: Final = re.compile(r"\s*[\w.-]+[ \t]*:(?:\s|\Z)")
_PATH: Final = " > "


def read_text(path: Path) -> Content:
    """Return a text file.

    Raises:
        UsageError: it is not text.

    """
    passage = Passage(text=unwrapped(text_of_file(path)))
    return Content(name=path.stem, title=path.stem, passages=(passage,), where=str(path))


def read_markdown(path: Path) -> Content:
    """Return a Markdown file (CommonMark with tables), a passage for each of its headings and what stands below.

    A passage begins with its heading; one with nothing below it begins the next passage. Front matter is left out: keys
    and values between two lines of hyphens; other text between such lines is text. The title is that of the front
    matter, else the first heading of the first level, else the file's name.

    Raises:
        UsageError: it is not text.

    """
    text = text_of_file(path)
    front = _FRONT.match(text)
    facts = None if front is None else _facts(front[1] or "")
    body = text if front is None or facts is None else text[front.end() :]
    tokens = _tokens(body)
    firsts = (title for level, title, _ in _headings(tokens) if level == 1 and title)
    title = _title(facts or {}) or next(firsts, path.stem)
    return Content(name=path.stem, title=title, passages=tuple(_passages(body, tokens)), where=str(path))


def _tokens(text: str) -> list[Token]:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - other documents do without

    return MarkdownIt("commonmark").enable("table").parse(text)


def _facts(front: str) -> dict[Any, Any] | None:
    """Return what front matter says, nothing of what cannot be read; None for a text that merely stands there."""
    try:
        facts: Any = load_yaml(front)
    except (ValueError, RecursionError):
        return {} if _KEY.match(front) or front.lstrip().startswith("{") else None
    if facts is None:
        return None if front.strip() else {}
    return facts if isinstance(facts, dict) else None


def _title(facts: dict[Any, Any]) -> str | None:
    """Return the title that front matter gives."""
    title = facts.get("title")
    return title.strip() or None if isinstance(title, str) else None


def _headings(tokens: list[Token]) -> Iterator[tuple[int, str, int]]:
    """Yield level, text and first line of every heading that is not inside something else."""
    for opened, inline in pairwise(tokens):
        if opened.type == "heading_open" and opened.level == 0 and opened.map is not None:
            yield int(opened.tag[1:]), " ".join(inline.content.split()), opened.map[0]


def _passages(text: str, tokens: list[Token]) -> Iterator[Passage]:
    lines, paragraphs, bodies = text.split("\n"), _paragraphs(tokens), _bodies(tokens)
    path: dict[int, str] = {}
    headings = [(0, "", 0), *_headings(tokens)]
    ends = [first for _, _, first in headings[1:]] + [len(lines)]
    began = 0
    for (level, heading, first), end in zip(headings, ends, strict=True):
        path = {higher: name for higher, name in path.items() if higher < level} | ({level: heading} if heading else {})
        if end < len(lines) and bisect_left(bodies, first) == bisect_left(bodies, end):
            continue  # nothing but the heading: it goes with what follows
        yield Passage(text=_joined(lines, began, end, paragraphs), heading=_PATH.join(path.values()) or None)
        began = end


def _paragraphs(tokens: list[Token]) -> dict[int, int]:
    """Return first line -> line after the last of every paragraph whose line ends are mere spaces."""
    found = (token.map for token in tokens if token.type == "paragraph_open" and token.level == 0)
    return {place[0]: place[1] for place in found if place is not None}


def _bodies(tokens: list[Token]) -> list[int]:
    """Return the first line of everything that is neither a heading nor a rule, in their order."""
    return [
        token.map[0]
        for token in tokens
        if token.level == 0
        and token.map is not None
        and token.nesting >= 0
        and token.type not in ("heading_open", "hr")
    ]


def _joined(lines: list[str], began: int, end: int, paragraphs: dict[int, int]) -> str:
    """Return lines as a text, each paragraph in one line."""
    made: list[str] = []
    place = began
    while place < end:
        until = paragraphs.get(place, place + 1)
        part = lines[place:until]
        made.append(part[0] if len(part) == 1 else " ".join(line.strip() for line in part))
        place = until
    return "\n".join(made)
