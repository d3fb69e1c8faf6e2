"""The `Name: value` lines of a plain-text answer, and texts made comparable.

The answer of ADK's rubric judges (final response, tool use, trajectory) -> one `Answer` a rubric. A judge writes a
block of `ID:`, `Property:`, `Evidence:`, `Rationale:` and `Verdict:` lines about every rubric. Since it may quote the
agent, which may write such lines itself, a rubric with verdicts that differ has none, and a verdict that may have
strayed from its rubric counts against every rubric that was answered before it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from judgeharness_integrations.judging.judge import Answer
from judgeharness_integrations.judging.parsing import may_quote, quotations
from judgeharness_integrations.verdictlog.row import Verdict

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


_NAMES = frozenset({"id", "property", "evidence", "rationale", "verdict", "STEP"})
_VERDICTS: dict[str | None, Verdict] = {"yes": "PASS", "no": "FAIL"}
_WORDS = re.compile(r"(?<![^\W_])(?:yes|no)(?![^\W_])", re.IGNORECASE)
_LED = re.compile(  # the word, what closes its markup, then punctuation: "No, ...", "yes - ..", not "no-one", "No. 5"
    r"(yes|no)[*_`\"'\u201d\u2019)\]}>]{0,6}(?:[,;:!]|\.(?!\w|\s*+[0-9])|\s*+(?:-{1,3}\s|[\u2013\u2014(\[]))",
    re.IGNORECASE,
)
_AGAIN = re.compile(r"verdict[\s*_`\"']{0,6}[:=\uff1a][\s*_`\"'\[(]{0,6}(yes|no)(?![^\W_])", re.IGNORECASE)
_TAG = re.compile(r"\[\s{0,3}id\s{0,3}:([^\]\n]{1,200})\]", re.IGNORECASE)
_ID_PREFIX = re.compile(r"\Aid\s{0,3}:", re.IGNORECASE)

_STATED, _ENDS = stated("verdict", "yes|no"), frozenset({"yes", "no"})

_COPIED = "a passage copied from what was judged holds a verdict and the head of a block"
_STRAYED = "a verdict further down, which may be about this rubric, differs"

_UNREAD = {name: (name, "", ()) for name in ("rationale", "evidence")}  # what they say decides nothing
_LONGEST_FRAMED = 8_000  # characters of an answer whose reading is kept

_Block = list[Field]


def read_rubrics(
    text: str | None, rubrics: Sequence[tuple[str, str]], *, shown: Iterable[str] = ()
) -> tuple[Answer, ...]:
    """Return one answer a rubric, in their order: "PASS" for yes, "FAIL" for no, else unparsed and why.

    Args:
        text: what the judge answered, None for nothing.
        rubrics: (id, text) of each rubric the judge was shown.
        shown: the texts it was shown; a verdict inside a passage of one of them is none.

    """
    asked, whole, shown = tuple(rubrics), text or "", tuple(shown)
    own = own_text(whole, shown, _STATED) if may_quote(whole, shown, _ENDS) else whole
    # a copied passage runs over the only head of a rubric
    if own != whole and not _answered(whole, _known(asked)) <= _answered(own, _known(asked)):
        return tuple(Answer(criterion=name, outcome="unparsed", reasoning=_COPIED) for name, _ in rubrics)
    found = fields(own, _NAMES)
    frame = tuple([_UNREAD.get(field.name) or field[:3] for field in found])
    readings = (_readings if len(own) <= _LONGEST_FRAMED else _readings.__wrapped__)(asked, frame)
    return tuple([_answer(name, reading, found) for (name, _), reading in zip(asked, readings, strict=True)])


class _Reading(NamedTuple):
    """What was read about a rubric: the verdict, else why there is none; the fields that may hold its rationale."""

    verdict: Verdict | None
    why: str | None
    rationales: tuple[int, ...]


_Frame = tuple[tuple[str, str, tuple[str, ...]], ...]  # name, line and lines below of each field


@lru_cache(maxsize=256)  # most answers about the same rubrics differ in their reasons alone
def _readings(rubrics: tuple[tuple[str, str], ...], frame: _Frame) -> tuple[_Reading, ...]:
    """Return what is read about each rubric in the fields of an answer, whose `start` is here their number."""
    known = _known(rubrics)
    about: list[list[_Block]] = [[] for _ in rubrics]
    later: list[set[str | None]] = [set() for _ in rubrics]
    begun: set[int] = set()
    blocks = _blocks([Field(*said, number, 0) for number, said in enumerate(frame)], known)
    places = [known.place(block) for block in blocks]
    for block, place, stray in zip(blocks, places, _strays(blocks, places), strict=True):
        for other in begun - {place} if stray else ():
            later[other] |= stray
        if place is not None:
            about[place].append(block)
            if _verdicts(block):
                begun.add(place)
    return tuple(map(_reading, about, later))


def _answered(text: str, known: _Known) -> set[int | None]:
    """Return which rubrics have a block of their own; without it their verdicts would be another one's."""
    return {known.place(block) for block in _blocks(fields(text, _NAMES), known)}


def _blocks(found: Sequence[Field], known: _Known) -> list[_Block]:
    """Group the fields; those before the first block or after a STEP line are nobody's.

    Inside a block that still lacks its verdict an `ID:` opens the next one only right before a `Property:`. Without
    one it is evidence (`ID: 42`), or the block ends there in doubt, and what follows is nobody's, when it is the id of
    a rubric.
    """
    blocks: list[_Block] = [[]]
    seen: set[str] = set()
    for field, following in zip(found, [*(field.name for field in found[1:]), ""], strict=False):
        opens = field.name == "STEP" or (field.name == "property" and seen != {"id"})
        if field.name == "id":
            opens = "property" not in seen or "verdict" in seen or following == "property"
            if not opens:
                if known.by_id(field.first) is not None:
                    blocks.append([])
                    seen = set()
                continue
        if opens:
            blocks.append([])
            seen = set()
        blocks[-1].append(field)
        seen.add(field.name)
    return blocks


def _strays(blocks: Sequence[_Block], places: Sequence[int | None]) -> list[set[str | None]]:
    """Return what each block says that may be about another rubric: a quotation may have opened it.

    Such are the blocks of no rubric, and those of a rubric that has several, unless all rubrics are answered again in
    the same order. A verdict in the midst of steps is theirs.
    """
    answered = [place for block, place in zip(blocks, places, strict=True) if place is not None and _verdicts(block)]
    once = list(dict.fromkeys(answered))
    again = answered == once * (len(answered) // max(len(once), 1))
    several = () if again else {place for place, times in Counter(answered).items() if times > 1}
    strays: list[set[str | None]] = []
    for number, (block, place) in enumerate(zip(blocks, places, strict=True), start=1):
        mine = place not in several if place is not None else all(map(_is_step, (block, *blocks[number : number + 1])))
        strays.append(set() if mine or not block else _words([block]))
    return strays


def _is_step(block: _Block) -> bool:
    return bool(block) and block[0].name == "STEP" and all(field.name != "rationale" for field in block)


def _verdicts(block: _Block) -> list[Field]:
    return [field for field in block if field.name == "verdict"]


def _words(blocks: Sequence[_Block]) -> set[str | None]:
    return {word for block in blocks for field in _verdicts(block) for word in _field_words(field)}


def _reading(blocks: Sequence[_Block], later: set[str | None]) -> _Reading:
    rationales = tuple(field.start for block in blocks for field in block if field.name == "rationale")
    said = _words(blocks)
    if len(said) != 1 or None in said:
        return _Reading(None, _why(blocks, said), rationales)
    if later - said:
        return _Reading(None, _STRAYED, rationales)
    return _Reading(_VERDICTS[said.pop()], None, rationales)


def _answer(criterion: str, reading: _Reading, found: Sequence[Field]) -> Answer:
    reasons = (found[number].text for number in reading.rationales)
    reasoning = next(filter(None, reasons), reading.why)
    if reading.verdict is None:
        return Answer(criterion=criterion, outcome="unparsed", reasoning=reasoning)
    return Answer(criterion=criterion, verdict=reading.verdict, reasoning=reasoning)


def _why(blocks: Sequence[_Block], said: set[str | None]) -> str:
    verdicts = [field for block in blocks for field in _verdicts(block)]
    if not verdicts:
        return "no verdict about this rubric" if blocks else "no answer about this rubric"
    if said >= _VERDICTS.keys():
        return "answered twice: yes and no"
    unreadable = next(field.first for field in verdicts if None in _field_words(field))
    return f"verdict {clip(unreadable)} is neither yes nor no" if unreadable else "the verdict is empty"


def _field_words(verdict: Field) -> set[str | None]:
    """Return what a field says, and what the lines below it take back (`Final verdict: no`)."""
    again = {match[1].casefold() for line in verdict.more for match in _AGAIN.finditer(line)}
    return again | verdict.said(_leading_word, _lone_word)


def _lone_word(line: str) -> str | None:
    word = bare(line).casefold()
    return word if word in _VERDICTS else None


def _leading_word(line: str) -> str | None:
    """Return the yes or no that a line is or begins with, None when it holds the other word too."""
    if len({word.casefold() for word in _WORDS.findall(line)}) > 1:
        return None
    led = _LED.match(line.lstrip(MARKUP + "([{<"))
    return _lone_word(line) or (led[1].casefold() if led else None)


@dataclass(frozen=True, slots=True)
class _Known:
    """Where each rubric stands by its id (as written, without decoration, in any case) and by its text."""

    ids: tuple[Mapping[str, int], ...]
    texts: Mapping[str, int]

    def by_id(self, written: str) -> int | None:
        found = (places.get(key) for key, places in zip(_id_keys(written), self.ids, strict=True))
        return next((place for place in found if place is not None), None)

    def place(self, block: _Block) -> int | None:
        """Return which rubric a block is about: by its id, else by its text, which may carry an `[id: ..]` tag."""
        heads = [field.first for field in block if field.name == "id"]
        given = [(field.text, field.first) for field in block if field.name == "property"]
        texts = [text for both in given for text in dict.fromkeys(both)]
        untagged = [_untagged(text) for text in texts]
        ids = [*heads, *(tag for tag, _ in untagged if tag)]
        found = [self.by_id(written) for written in ids] + [self.texts.get(comparable(text)) for _, text in untagged]
        return next((place for place in found if place is not None), None)


@lru_cache(maxsize=64)  # the answers of all samples of a case are about the same
def _known(rubrics: tuple[tuple[str, str], ...]) -> _Known:
    ids = [_id_keys(name) for name, _ in rubrics]
    texts = [comparable(_untagged(text)[1]) for _, text in rubrics]
    return _Known(ids=tuple(unique([keys[level] for keys in ids]) for level in range(3)), texts=unique(texts))


def _id_keys(written: str) -> tuple[str, str, str]:
    plain = bare(_ID_PREFIX.sub("", bare(written)))
    return written.strip(), plain, plain.casefold()


def _untagged(text: str) -> tuple[str | None, str]:
    """Return the id of a leading `[id: ..]` tag, None without one, and the text without the tag."""
    plain = text.lstrip(MARKUP)
    tag = _TAG.match(plain)
    return (tag[1], plain[tag.end() :]) if tag else (None, text)
