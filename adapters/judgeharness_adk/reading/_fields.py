"""The `Name: value` lines of a plain-text answer, and texts made comparable."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from judgeharness_integrations.quotations import quotations

__all__ = ["MARKUP", "Field", "bare", "clip", "comparable", "fields", "one_line", "own_text", "stated", "unique"]

MARKUP = " *_`#>-\u2022+\"'\u201c\u201d\u2018\u2019\u200b\ufeff"  # markdown, bullets, quotes, invisible characters
_AROUND = MARKUP + "()[]{}<>.,;:!"
_LINE_END = re.compile(r"\r\n?|\n")
_FIELD = re.compile(r"([^:\uff1a]{1,80})[:\uff1a](?:[*_`]{1,3}(?=\s|$))?(.*)")
_NAME = re.compile(r"(?:[0-9]{1,3}[.)][ *_`]*)?([A-Za-z][A-Za-z _]*?)[ _]*#?[0-9]{0,3}")  # "2. Verdict", "STEP 5"
_ASCII = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
)
_LONGEST_NORMALISED = 4_000  # `normalize` takes quadratic time over a hostile run of combining marks
_LONGEST_QUOTE = 60
_LONGEST_KNOWN = 120
_NO_COLON = str.maketrans(dict.fromkeys(":\uff1a", "\u2236"))


def stated(name: str, words: str) -> re.Pattern[str]:
    """Return what finds the words of a field, beside its name or alone on a line; the first group is the word.

    Args:
        name: the field, as a pattern.
        words: what it may say, as a pattern.

    """
    around = rf"[ \t{re.escape(_AROUND)}]{{0,80}}+"
    led = rf"{name}[ _]{{0,8}}#?[0-9]{{0,3}}[\s*_`\"']{{0,6}}[:=\uff1a][\s{re.escape(_AROUND)}]{{0,80}}+"
    return re.compile(rf"(?:{led}|^{around}(?={words}{around}$))({words})(?![^\W_])", re.IGNORECASE | re.MULTILINE)


def own_text(
    text: str, shown: Iterable[str], verdict: re.Pattern[str], *, repeated: Sequence[tuple[int, int]] = ()
) -> str:
    """Return an answer in which no passage of a `shown` text that holds a verdict states a field any more.

    The words stay but for the verdicts, and what was a colon is none. What is `repeated`, as `quotations` has it, is no
    part of a passage.
    """
    quoted = quotations(text, shown, repeated=repeated)
    if not quoted.spans:
        return text
    places = [match.span(1) for match in verdict.finditer(text)]
    spans = dict.fromkeys(span for place in places if (span := quoted.around(*place)) is not None)
    kept, end = [], 0
    for start, after in spans:
        passage = verdict.sub(lambda match: match[0].replace(match[1], "\u2026"), text[start:after])
        kept += [text[end:start], passage.translate(_NO_COLON)]
        end = after
    return "".join([*kept, text[end:]])


class Field(NamedTuple):
    """One field: its name, the rest of its own line, and the lines below it up to the next field.

    `start` is where its own line begins in the text, and `value` where the rest of that line does.
    """

    name: str
    line: str
    more: tuple[str, ...]
    start: int
    value: int

    @property
    def text(self) -> str:
        """The whole value, stripped."""
        if not self.more:
            return self.line.strip()
        return "\n".join((self.line, *self.more)).strip()

    @property
    def first(self) -> str:
        """The first line of the value that says anything; its own line when none does."""
        if not self.more:
            return self.line.strip()
        return next((line.strip() for line in (self.line, *self.more) if bare(line)), self.line.strip())

    def said(self, led: Callable[[str], str | None], alone: Callable[[str], str | None]) -> set[str | None]:
        """Return every reading of a field that should say one word; None stands for an unreadable one.

        Its own line is read by `led`. Of the lines below, those that `alone` reads count too, and the first that says
        anything must be such a line when the field's own line is empty.
        """
        below = {alone(line) for line in self.more} - {None}
        if bare(self.line):
            return {led(self.line), *below}
        return {alone(self.first), *below}


def fields(text: str, names: frozenset[str]) -> list[Field]:
    """Return the fields of these names in order; markdown and numbering around a name is allowed.

    Names are lower case with `_` for blanks and found in any case; one in upper case is found as written only.
    """
    found: list[tuple[str, str, list[str], int, int]] = []
    start, mixed = 0, "\r" in text
    for line in _LINE_END.split(text) if mixed else text.split("\n"):
        # most heads are those of other answers, too; a long line is a reason, and comes once
        name, value = (_known_line if len(line) <= _LONGEST_KNOWN else _named)(line, names)
        if name is not None:
            found.append((name, value, [], start, start + len(line) - len(value)))
        elif found:
            found[-1][2].append(line)
        start += len(line) + (2 if mixed and text.startswith("\r\n", start + len(line)) else 1)
    return [Field(name, value, tuple(more), start, place) for name, value, more, start, place in found]


def _named(line: str, names: frozenset[str]) -> tuple[str | None, str]:
    match = _FIELD.match(line)
    name = _NAME.fullmatch(match[1].strip().strip(MARKUP)) if match else None
    if match is None or name is None:
        return None, line
    written = name[1]
    key = written if written in names else written.casefold().replace(" ", "_")
    return (key if key in names else None), match[2].lstrip()


_known_line = lru_cache(maxsize=1024)(_named)


def one_line(text: str) -> str:
    """Return the text with every run of white space collapsed to a blank."""
    return " ".join(text.split())


def bare(text: str) -> str:
    """Return the text without markup, quotes, brackets and punctuation around it."""
    return one_line(text).strip(_AROUND)


def comparable(text: str) -> str:
    """Return what two copies of one text share: NFKC, ASCII quotes and dashes, no markup around it, case folded."""
    plain = one_line(text)
    if len(plain) <= _LONGEST_NORMALISED:
        plain = one_line(unicodedata.normalize("NFKC", plain))
    plain = plain.translate(_ASCII)
    return (plain.strip(MARKUP + "[]") or plain).casefold()


def unique(keys: Sequence[str]) -> dict[str, int]:
    """Return where each key stands that occurs once and is not empty."""
    times = Counter(keys)
    return {key: place for place, key in enumerate(keys) if key and times[key] == 1}


def clip(text: str) -> str:
    """Return a quoted text short enough for a sentence."""
    line = one_line(text)
    return repr(line if len(line) <= _LONGEST_QUOTE else line[: _LONGEST_QUOTE - 1] + "\u2026")
