"""Other typography and other whitespace, where neither carries meaning."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from judgeharness_integrations.judging.cases import map_texts
from judgeharness_integrations.judging.perturbations.base import Perturbation, texts_of, wants_text
from judgeharness_integrations.judging.perturbations.formats import (
    BLANKS,
    Spans,
    chunks,
    code_spans,
    is_json,
    lines,
    looks_like_code,
    map_prose,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from judgeharness_integrations.judging.cases import Case
    from judgeharness_integrations.judging.perturbations.base import Context

_LITERAL = re.compile(r"""https?://[^\s*`<>"\u201c\u201d]++|<[a-zA-Z/!][^<>\n]*+>|\{[^{}\n]*+\}""")
_CURLED = {'"': ("\u201c", "\u201d"), "'": ("\u2018", "\u2019")}
_STRAIGHT = {"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2018": "'", "\u2019": "'", "\u201a": "'"}
_STRAIGHT |= {"\u2013": "-", "\u2026": "..."}
_TO_STRAIGHT = re.compile(r"[\u2018-\u201a\u201c-\u201e\u2013\u2026]|(?<=[^\s\u2014]) ?\u2014++ ?(?=\S)")
_STRAIGHT_SIGN = re.compile(r"[\"']| - |\.\.\.")
_TO_CURLY = re.compile(
    r"(?<=[^\W\d_])'(?!\d)"
    r"|(?<=[^\s\d|]) - (?=[^\s\d|])"
    r"|(?<=[\w \"')])(?<!\.)\.\.\.(?=[\s\"'\u201d\u2019)!?,]|$)"
)
_QUOTE = re.compile(
    r"(?P<closes>(?<=\S)(?=[\"'](?:[\s.,;:!?)\]\u2014\u2013\u2026\"'-]|\Z)))?"
    r"(?P<opens>(?<![^\s(\[\u2014\u2013\"'-])(?=[\"']\S))?"
    r"[\"']"
)


def typography() -> Perturbation:
    """Return the perturbation that makes curly quotes, dashes and ellipses straight or, where none are, curly.

    Code, links, tags and JSON stay, and so do signs of arithmetic, feet and inches.
    """
    return Perturbation("typography", _changed, fits=_unfit)


def _changed(case: Case) -> Case:
    return map_texts(case, _varied)


def _unfit(case: Case) -> str | None:
    reason = wants_text("typography")(case)
    if reason is None and all(_varied(text) == text for text in texts_of(case)):
        reason = "typography has nothing to change: the texts hold no quotation marks, apostrophes, dashes or ellipses."
    return reason


def _varied(text: str) -> str:
    if is_json(text) or looks_like_code(text):
        return text
    straight = map_prose(text, _straight)
    return straight if straight != text else map_prose(text, _curly)


def _straight(prose: str) -> str:
    if not _TO_STRAIGHT.search(prose):
        return prose
    literal = _literal(prose)

    def changed(sign: re.Match[str]) -> str:
        return sign[0] if sign.start() in literal else _STRAIGHT.get(sign[0], " - ")

    return _TO_STRAIGHT.sub(changed, prose)


def _curly(prose: str) -> str:
    if not _STRAIGHT_SIGN.search(prose):
        return prose
    literal = _literal(prose)
    signs = list(prose)
    for start, end in _quoted(prose, literal):
        signs[start], signs[end] = _CURLED[prose[start]]
    for sign in _TO_CURLY.finditer(prose):
        if sign.start() not in literal:
            new = {"'": "\u2019", " - ": " \u2013 "}.get(sign[0], "\u2026")
            signs[sign.start() : sign.end()] = [new, *[""] * (len(sign[0]) - 1)]
    return "".join(signs)


def _quoted(prose: str, literal: Spans) -> Iterator[tuple[int, int]]:
    """Yield where the quotation marks of each pair stand; a mark without a partner may be a prime."""
    pending: dict[str, int] = {}
    for quote in _QUOTE.finditer(prose):
        at, sign = quote.start(), quote[0]
        if at in literal:
            continue
        if quote["closes"] is not None and sign in pending:
            yield pending.pop(sign), at
        elif quote["opens"] is not None:
            pending[sign] = at


def _literal(prose: str) -> Spans:
    code = Spans([(start, end) for start, end, _ in code_spans(prose)])
    return Spans([*code.pairs, *(part.span() for part in _LITERAL.finditer(prose) if part.start() not in code)])


_AFTER_SENTENCE = re.compile(r"(?<=[^\d\s][.!?\u2026])[ \t]++(?=\S)")
_WAYS = ("sentences", "paragraphs", "line_ends")


def whitespace() -> Perturbation:
    """Return the perturbation that tidies loose whitespace or, where there is none, loosens some.

    It touches blanks at line ends and after sentences, doubled blank lines and newlines around the text; code,
    indentation and what stands inside JSON strings stay.
    """
    return Perturbation("whitespace", _changed_of_whitespace, fits=wants_text("whitespace"), contextual=True)


def _changed_of_whitespace(case: Case, context: Context) -> Case:
    ways = frozenset(way for way in _WAYS if context.random.random() < 1 / 2)
    return map_texts(case, lambda text: _varied_of_whitespace(text, ways))


def _varied_of_whitespace(text: str, ways: frozenset[str]) -> str:
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
