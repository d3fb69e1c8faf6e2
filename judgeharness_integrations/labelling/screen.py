"""How a question is shown on a terminal: texts that cannot steer it, in lines that can be told from our own."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator

from judgeharness_integrations.labelling.questions import Question
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["shown"]

_SHORT = 16  # lines of a text that are shown unless all are asked for
_MARGIN = "  | "  # no line of a text can pass for one of ours
_LONGEST = 4_000  # characters wrapped at a time
_HEADINGS = {"context": "context", "input": "input", "output": "answer", "reference": "reference"}
_PAIR = {"output": "answer A", "output_b": "answer B"}


def shown(question: Question, *, width: int, whole: bool = False) -> Iterator[str]:
    """Yield the lines of a question's texts, each at most `width` wide; long texts are cut unless `whole`."""
    if question.description:
        yield from textwrap.wrap(safe_text(question.description, _LONGEST), width)
    headings = _HEADINGS | (_PAIR if "output_b" in question.texts else {})
    for name, text in question.texts.items():
        yield f"{headings[name]}:"
        yield from _cut(text, width=max(width - len(_MARGIN), 20), whole=whole)


def _cut(text: str, *, width: int, whole: bool) -> Iterator[str]:
    lines = _lines(text, width)
    for _ in range(_SHORT):
        if (line := next(lines, None)) is None:
            return
        yield _MARGIN + line
    if whole:
        yield from (_MARGIN + line for line in lines)
    elif next(lines, None) is not None:
        yield f"  ... cut here, {len(text)} characters in all: ? shows them"


def _lines(text: str, width: int) -> Iterator[str]:
    for line in text.splitlines() or [""]:
        plain = "".join(c if c.isprintable() else " " for c in line.expandtabs(4))
        # a character of double width must not make the terminal break a line where no margin is
        fits = width // 2 if any(map(_is_wide, plain)) else width
        for start in range(0, max(len(plain), 1), _LONGEST):
            yield from textwrap.wrap(plain[start : start + _LONGEST], fits) or [""]


def _is_wide(character: str) -> bool:
    return not character.isascii() and unicodedata.east_asian_width(character) in "WF"
