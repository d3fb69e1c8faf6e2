"""Another format, typography or whitespace for the same words."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..cases import Case, map_texts
from .base import Context, Perturbation, texts_of, wants_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


BLANKS = " \t\r\n"
_LINE = re.compile(r"[^\n]*+\n|[^\n]++")
_OPENING_FENCE = re.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?(`{3,}+|~{3,}+)(.*+)")
_CLOSING_FENCE = re.compile(r"[ \t>]*+(`{3,}+|~{3,}+)[ \t]*+\r?\n?")
_BACKTICKS = re.compile(r"`++")
_BLANK_LINE = re.compile(r"\n[ \t\r]*+\n")
_MARKED = re.compile(r"[ \t]*+(?:[-*+>|]|#{1,6}+|\d{1,9}[.)])[ \t]")
_CODE_LINE = re.compile(
    r"#include\b.*+"
    r"|(?:async )?(?:def|class) \w.*:"
    r"|(?:[\w.]++ = )?[\w.]++\((?:[^()]|\([^()]*+\))*+\)"
    r"|[])};,]++"
    r"|.*(?:[{;]|; ?\})"
)


class Chunk(NamedTuple):
    """A run of lines that is a code block, its fences included, or is not."""

    text: str
    code: bool


class Spans:
    """Disjoint stretches of a text, in order, with a test whether a position lies in one of them."""

    def __init__(self, pairs: list[tuple[int, int]]) -> None:
        """Keep the (start, end) pairs."""
        self.pairs = sorted(pairs)
        self._starts = [start for start, _ in self.pairs]

    def __contains__(self, position: int) -> bool:
        """Whether the position lies inside a stretch."""
        at = bisect_right(self._starts, position) - 1
        return at >= 0 and position < self.pairs[at][1]


def lines(text: str) -> list[str]:
    """Return the lines with their ends; only a line feed ends a line."""
    return _LINE.findall(text)


def chunks(text: str) -> list[Chunk]:
    """Split a text into code blocks and the rest; a fence that is never closed reaches to the end."""
    if text and "```" not in text and "~~~" not in text:
        return [Chunk(text, code=False)]
    return [
        Chunk("".join(line for _, line in group), code=block >= 0)
        for block, group in groupby(_fenced(text), key=lambda pair: pair[0])
    ]


def _fenced(text: str) -> Iterator[tuple[int, str]]:
    fence, block, count = "", -1, 0
    for line in lines(text):
        if fence:
            yield block, line
            closing = _CLOSING_FENCE.fullmatch(line)
            if closing and closing[1].startswith(fence):
                fence, block = "", -1
            continue
        opening = _OPENING_FENCE.match(line)
        if opening and not (opening[1][0] == "`" and "`" in opening[2]):
            fence, block, count = opening[1], count, count + 1
        yield block, line


def map_prose(text: str, change: Callable[[str], str]) -> str:
    """Return the text with `change` applied to every stretch outside code blocks."""
    return "".join(chunk.text if chunk.code else change(chunk.text) for chunk in chunks(text))


def code_spans(text: str) -> list[tuple[int, int, int]]:
    """Return the inline code of a text as (start, end, how many backticks fence it)."""
    found: list[tuple[int, int, int]] = []
    paragraph: list[tuple[int, int]] = []
    for run in _BACKTICKS.finditer(text):
        if paragraph and _BLANK_LINE.search(text, paragraph[-1][1], run.start()):
            found += _paired(paragraph)
            paragraph = []
        paragraph.append(run.span())
    return [*found, *_paired(paragraph)]


def _paired(runs: list[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    waiting: dict[int, list[int]] = defaultdict(list)
    for index in range(len(runs) - 1, -1, -1):
        waiting[runs[index][1] - runs[index][0]].append(index)
    index = 0
    while index < len(runs):
        start, end = runs[index]
        same = waiting[end - start]
        while same and same[-1] <= index:
            same.pop()
        if same:
            index = same[-1]
            yield start, runs[index][1], end - start
        index += 1


def is_json(text: str) -> bool:
    """Whether the whole text is one JSON object or array."""
    body = text.strip(BLANKS)
    if not body.startswith(("{", "[")):
        return False
    try:
        json.loads(body, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True


def looks_like_code(text: str) -> bool:
    """Whether a text without fences is more likely program text than prose."""
    written = [line.rstrip() for line in lines(text) if line.strip()]
    plain = [line for line in written if not _MARKED.match(line)]
    indented = sum(line.startswith(("  ", "\t")) for line in plain)
    telling = sum(not line[0].isspace() and _CODE_LINE.fullmatch(line) is not None for line in plain)
    return telling > 0 and 2 * (indented + telling) >= len(written)


# A digit after the marker could be a negative number, and a numbered item is known by its number: both stay.
_ITEM = re.compile(r"([ \t]*+)[-*+][ \t]++(?=\S)(?![*_]*+\d)")
_NUMBERED = re.compile(r"[ \t]*+\d{1,9}[.)][ \t]")
_HEADING = re.compile(r"( {0,3})#{1,6}[ \t]++(?=\S)")
_RULE = re.compile(r" {0,3}(?:-{3,}+|\*{3,}+|={3,}+)[ \t]*+\r?\n?")
_URL = re.compile(r'https?://[^\s*`<>"]++')
_SIGN = re.compile(r"[*_`]")
_RUN = re.compile(r"\*++|_++")
_WORD = re.compile(r"\w++")
_QUOTES = "\"'\u201c\u2018\u00ab"
_BEFORE = f"([{{{_QUOTES}\u2013\u2014-:>|"
_AFTER = ".,;:!?)]}\"'\u201d\u2019\u00bb\u2013\u2014\u2026-|<"
_FIRST = frozenset(f"([`${_QUOTES}")
_CLUSTER = re.compile(
    r"(?<![*_])"
    rf"(?P<closes>(?<=[^\s\\])(?=[*_]++(?:[\s{re.escape(_AFTER)}]|\Z)))?"
    rf"(?P<opens>(?<![^\s{re.escape(_BEFORE)}])(?=[*_]++\S))?"
    r"[*_]++"
)
_LONGEST_RUN = 3


def without_markdown(text: str) -> str:
    """Return the text without emphasis, inline code marks, headings, rules and bullets.

    What may carry meaning stays: code blocks, numbers of list items, quotations, tables, links, identifiers such
    as `snake_case` and `__init__`, and signs of arithmetic.
    """
    return map_prose(text, _plain)


def _plain(prose: str) -> str:
    kept: list[str] = []
    in_list = False
    for line in lines(prose):
        if not line.strip() or (line.startswith(("    ", "\t")) and not in_list):
            kept.append(line)
            continue
        if _RULE.fullmatch(line) and ("=" not in line or (kept and not kept[-1].isspace())):
            continue
        if _ITEM.match(line) or _NUMBERED.match(line):
            in_list = True
        elif not line[0].isspace():
            in_list = False
        kept.append(_plain_inline(_plain_block(line)))
    return "".join(kept)


def _plain_block(line: str) -> str:
    item = _ITEM.match(line)
    if item:
        return item[1] + line[item.end() :]
    heading = _HEADING.match(line)
    if not heading:
        return line
    title = line[heading.end() :].rstrip()
    end = line[heading.end() + len(title) :]
    bare = title.rstrip("#")
    return heading[1] + (bare.rstrip() if bare.endswith((" ", "\t")) else title) + end


class _Mark(NamedTuple):
    """A run of one emphasis sign, and where it stands."""

    run: str
    start: int
    end: int


def _plain_inline(line: str) -> str:
    if not _SIGN.search(line):
        return line
    spans = code_spans(line)
    cuts = [cut for start, end, ticks in spans if _alone(line, start, end) for cut in _ends(line, start, end, ticks)]
    literal = Spans([(start, end) for start, end, _ in spans])
    literal = Spans([*literal.pairs, *(m.span() for m in _URL.finditer(line) if m.start() not in literal)])
    cuts += _emphasis(line, literal)
    parts, done = [], 0
    for start, end in sorted(cuts):
        parts.append(line[done:start])
        done = end
    return "".join(parts) + line[done:]


def _ends(line: str, start: int, end: int, ticks: int) -> tuple[tuple[int, int], tuple[int, int]]:
    padded = line[start + ticks] == line[end - ticks - 1] == " " and end - start > 2 * ticks + 1
    width = ticks + padded
    return (start, start + width), (end - width, end)


def _alone(line: str, start: int, end: int) -> bool:
    """Whether taking the marks off joins no words: a backtick may stand for an apostrophe."""
    return not _WORD.match(line, max(start - 1, 0), start) and not _WORD.match(line, end, end + 1)


def _emphasis(line: str, literal: Spans) -> list[tuple[int, int]]:
    cuts: list[tuple[int, int]] = []
    stack: list[_Mark] = []
    waiting: Counter[str] = Counter()
    for cluster in _CLUSTER.finditer(line):
        opens, closes = cluster["opens"] is not None, cluster["closes"] is not None
        if not (opens or closes) or cluster.start() in literal:
            continue
        after = line[cluster.end() : cluster.end() + 1]
        for run in _RUN.finditer(line, *cluster.span()):
            mark = _Mark(run[0], *run.span())
            if closes and waiting[mark.run]:
                cuts += _closed(line, mark, stack, waiting)
            elif opens and len(mark.run) <= _LONGEST_RUN and _may_open(mark.run, after):
                stack.append(mark)
                waiting[mark.run] += 1
    return cuts


def _may_open(run: str, after: str) -> bool:
    """Whether a sign may begin emphasis: `*.py` and `*, b.*` may not."""
    return len(run) > 1 or after.isalnum() or after in _FIRST


def _closed(line: str, mark: _Mark, stack: list[_Mark], waiting: Counter[str]) -> list[tuple[int, int]]:
    while True:
        opening = stack.pop()
        waiting[opening.run] -= 1
        if opening.run == mark.run:
            break
    if mark.run == "__" and _WORD.fullmatch(line, opening.end, mark.start):
        return []
    return [(opening.start, opening.end), (mark.start, mark.end)]


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


_Style: TypeAlias = "Callable[[list[Chunk]], list[str] | None]"

_BOLDABLE = re.compile(r"( {0,3}(?:(?:[-+]|\d{1,9}[.)])[ \t]++)?)([^\s|><#=~`*_\\][^`*|]*+)")
_SENTENCE_END = re.compile(r"[.!?\u2026][\"')\]\u201d\u2019]*+(?=\s|$)")
_LETTER_FIRST = re.compile(r" {0,3}[\"'(\u201c\u2018\u00bf\u00a1]*+[^\W\d_]")
_FORMATS_BACKTICKS = re.compile(r"`{3,}+")
_LONGEST_HEADING = 80


def format_change() -> Perturbation:
    """Return the perturbation that changes how the answers are formatted and keeps every word.

    Markdown is taken off where there is some; else a bold sentence, bullets or a heading are put on, the same kind
    for both answers. JSON is indented or put on one line, bare program text gets a fence. Code blocks stay.
    """
    return Perturbation("format_change", _changed, fits=wants_text("format_change"), contextual=True)


def _changed(case: Case, context: Context) -> Case:
    styles = context.random.sample((_bold, _bulleted, _headed), 3)
    return map_texts(case, lambda text: _reformatted(text, styles))


def _reformatted(text: str, styles: Iterable[_Style]) -> str:
    if is_json(text):
        return relaid(text)
    split = chunks(text)
    if not any(chunk.code for chunk in split) and looks_like_code(text):
        return _fenced_of_formats(text)
    plain = without_markdown(text)
    if plain != text and plain.strip():
        return plain
    for style in styles:
        formatted = style(split)
        if formatted is not None:
            return "".join(formatted)
    # a rule behind a fence that is never closed would be code
    return f"---\n\n{text}" if split[-1].code else f"{text}\n\n---"


def _fenced_of_formats(text: str) -> str:
    fence = "`" * max((len(run) + 1 for run in _FORMATS_BACKTICKS.findall(text)), default=3)
    return f"{fence}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"


def _bold(split: list[Chunk]) -> list[str] | None:
    return _first_line(split, _bold_line)


def _bold_line(line: str) -> str | None:
    body = line.rstrip()
    parts = _BOLDABLE.fullmatch(body)
    if not parts:
        return None
    end = _SENTENCE_END.search(body, parts.start(2))
    cut = end.end() if end else len(body)
    sentence = body[parts.start(2) : cut]
    # behind either of these, the closing asterisks would not be read as such
    return None if sentence.endswith(("\\", "_")) else f"{parts[1]}**{sentence}**{line[cut:]}"


def _headed(split: list[Chunk]) -> list[str] | None:
    return _first_line(split, _heading)


def _heading(line: str) -> str | None:
    fits = _begins_item(line) and "#" not in line and len(line) <= _LONGEST_HEADING
    return _marked(line, "#") if fits else None


def _first_line(split: list[Chunk], change: Callable[[str], str | None]) -> list[str] | None:
    """Return the text's pieces with the first line that can be changed changed."""
    pieces = [(c.code, text) for c in split for text in ([c.text] if c.code else lines(c.text))]
    for index, (code, text) in enumerate(pieces):
        changed = None if code or text.isspace() else change(text)
        if changed is not None:
            pieces[index] = (code, changed)
            return [piece for _, piece in pieces]
    return None


def _bulleted(split: list[Chunk]) -> list[str] | None:
    """Return the pieces with a bullet before every paragraph or, in a single paragraph, before every line."""
    prose = "".join(chunk.text for chunk in split if not chunk.code)
    written = lines(prose)
    if any(line.startswith(("    ", "\t")) for line in written):
        return None
    several = any(not line.strip() for line in written[:-1])
    changed = [chunk.text if chunk.code else _with_bullets(chunk.text, several=several) for chunk in split]
    return changed if changed != [chunk.text for chunk in split] else None


def _with_bullets(prose: str, *, several: bool) -> str:
    parts = []
    begins = True
    for line in lines(prose):
        parts.append(_marked(line, "-") if begins and _begins_item(line) else line)
        begins = not several or not line.strip()
    return "".join(parts)


def _begins_item(line: str) -> bool:
    """Whether a line may get a mark in front: a table row may not, and `- 5` could be a negative number."""
    return _LETTER_FIRST.match(line) is not None and "|" not in line


def _marked(line: str, mark: str) -> str:
    indent = len(line) - len(line.lstrip(" "))
    return f"{line[:indent]}{mark} {line[indent:]}"


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
    return Perturbation("typography", _retyped, fits=_unfit)


def _retyped(case: Case) -> Case:
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
