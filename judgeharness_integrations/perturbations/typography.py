"""Other typography: straight or curly quotes, hyphens or dashes, three dots or an ellipsis."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from judgeharness_integrations.cases import map_texts
from judgeharness_integrations.perturbations._fits import texts_of, wants_text
from judgeharness_integrations.perturbations._text import Spans, code_spans, is_json, looks_like_code, map_prose
from judgeharness_integrations.perturbations.base import Perturbation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from judgeharness_integrations.cases import Case

__all__ = ["typography"]

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
