"""Other whitespace where none of it carries meaning."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from judgeharness_integrations.cases import map_texts
from judgeharness_integrations.perturbations._fits import wants_text
from judgeharness_integrations.perturbations._text import (
    BLANKS,
    Spans,
    chunks,
    code_spans,
    is_json,
    lines,
    looks_like_code,
)
from judgeharness_integrations.perturbations.base import Perturbation

if TYPE_CHECKING:
    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.perturbations.base import Context

__all__ = ["whitespace"]

_AFTER_SENTENCE = re.compile(r"(?<=[^\d\s][.!?\u2026])[ \t]++(?=\S)")
_WAYS = ("sentences", "paragraphs", "line_ends")


def whitespace() -> Perturbation:
    """Return the perturbation that tidies loose whitespace or, where there is none, loosens some.

    It touches blanks at line ends and after sentences, doubled blank lines and newlines around the text; code,
    indentation and what stands inside JSON strings stay.
    """
    return Perturbation("whitespace", _changed, fits=wants_text("whitespace"), contextual=True)


def _changed(case: Case, context: Context) -> Case:
    ways = frozenset(way for way in _WAYS if context.random.random() < 1 / 2)
    return map_texts(case, lambda text: _varied(text, ways))


def _varied(text: str, ways: frozenset[str]) -> str:
    literal = is_json(text) or looks_like_code(text)
    tidy = _tidy(text, literal=literal)
    return tidy if tidy != text else _loose(text, ways - {"sentences"} if literal else ways)


def _tidy(text: str, *, literal: bool) -> str:
    split = chunks(text)
    parts = []
    for index, chunk in enumerate(split):
        part = chunk.text if chunk.code or literal else _after_sentences(chunk.text, loose=False)
        if not chunk.code:
            part = _tidy_lines(part, first=index == 0)
            part = part.rstrip(BLANKS) if index == len(split) - 1 else part
        parts.append(part)
    return "".join(parts)


def _tidy_lines(prose: str, *, first: bool) -> str:
    kept = []
    blank = first
    for line in lines(prose):
        body = line.rstrip(BLANKS)
        if body or not blank:
            kept.append(body + _line_end(line))
        blank = not body
    return "".join(kept)


def _loose(text: str, ways: frozenset[str]) -> str:
    split = chunks(text)
    loosened = "".join(chunk.text if chunk.code else _loose_prose(chunk.text, ways) for chunk in split)
    # a newline behind a fence that is never closed would be code
    return f"\n{loosened}" if split[-1].code else f"{loosened}\n"


def _loose_prose(prose: str, ways: frozenset[str]) -> str:
    spaced = _after_sentences(prose, loose=True) if "sentences" in ways else prose
    return "".join(_loose_line(line, ways) for line in lines(spaced))


def _loose_line(line: str, ways: frozenset[str]) -> str:
    body = line.rstrip(BLANKS)
    if not body:
        return line * 2 if "paragraphs" in ways else line
    # behind a backslash, a blank would undo a line break
    return f"{body} {_line_end(line)}" if "line_ends" in ways and not body.endswith("\\") else line


def _line_end(line: str) -> str:
    return "\r\n" if line.endswith("\r\n") else "\n" if line.endswith("\n") else ""


def _after_sentences(prose: str, *, loose: bool) -> str:
    code = Spans([(start, end) for start, end, _ in code_spans(prose)])

    def changed(gap: re.Match[str]) -> str:
        if gap.start() in code:
            return gap[0]
        if loose:
            return "  " if gap[0] == " " else gap[0]
        return " " if len(gap[0]) > 1 else gap[0]

    return _AFTER_SENTENCE.sub(changed, prose)
