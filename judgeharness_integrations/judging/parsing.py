"""Text of a model -> a verdict, or None for unparsed; passages it copies from what it was shown say nothing.

Our own judges: the verdict stands alone on the last non-empty line, after the code of the case (see `marks`), which no
quotation can hold. Wrapped evaluators: the last bracketed verdict, and as soon as a judged text contains
any, only one that is all that the last non-empty line says; inside a passage that is copied from a judged text (see
`quotations`) neither is a verdict. Structured output: one JSON object and nothing else. Nothing here ever raises.

What a grammar cannot tell from a verdict where there is no code: fewer than six words of a judged text, quoted alone on
the last line, and a quotation that is reworded or translated.

A passage is a run of six words or more, the same words in the same order as in one of the texts. Case, punctuation,
markup, numbers of lines, invisible characters, accents, widths and the escapes of JSON make no difference; a Chinese or
Japanese character counts as half a word; `_` stands between words. Fewer words may be the judge's own: a text could
otherwise silence a verdict by holding it. Where a verdict is a word of the passage, any other verdict is the same word:
a text that could silence some verdicts would choose among them.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import Verdict

from .marks import CODE, said_after

__all__ = [
    "MARKUP",
    "REASONING",
    "AnswerFields",
    "Grammar",
    "answer_fields",
    "described",
    "json_of",
    "label_grammar",
    "last_line_of",
    "numbered",
    "object_of",
    "of_an_array",
    "score_grammar",
]

# where a text has verdicts: each the last group of a match, and every group is one word, the same in all matches
Verdicts: TypeAlias = Callable[[str], Iterable[re.Match[str]]]

_FEWEST: Final = 6  # words of a quotation
_MOST_PLAIN: Final = 5  # words of a value that may be a verdict; longer ones are prose
_LONGEST_PLAIN: Final = 200  # characters of it
_FIRST_UNSPACED: Final = "\u3040"
# scripts written without them; a half-width character is one, too
_NO_SPACES = "\u3040-\u3098\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
# what is not seen, or is a mark on the character before it: of Latin, Arabic and Japanese
_UNSEEN = (
    "\u00ad\u0300-\u036f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f"
    "\u064b-\u065f\u0670\u3099\u309a\uff9e\uff9f"
)
_LETTERS = rf"[^\W_{_NO_SPACES}\uff9e\uff9f]+"
_WORDS = re.compile(
    r"\\(?:[uU][0-9a-fA-F]{4}|[nrtbfNRTBF])"  # a character as JSON has it is no word, nor is what a fence says,
    r"|(?:`{3,}|~{3,})\w*"
    # nor is the number of a line, or the time at which it was said
    r"|(?m:^)[^\w\n]{0,9}+(?:[0-9]{1,9}+\W{1,9}+){1,12}+(?=[^\W\d_]|\Z)"
    rf"|([{_NO_SPACES}]|{_LETTERS}(?:[{_UNSEEN}]+{_LETTERS})*)"
)
_MARKS = ("\\", "```", "~~~")
_NUMBERED_LINE = re.compile(r"^[^\w\n]{0,9}+[0-9]", re.MULTILINE)
_APART = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_NAME = re.compile(r"(\w+)")
_UNSEEN_ONE = re.compile(f"[{_UNSEEN}]")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_OMITTED: Final = "\u2026"
_ANY: Final = "\0"  # the word that every verdict is


class Quotations:
    """Where an answer quotes."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        """Keep the passages: where each begins and ends, in order."""
        self._starts = [start for start, _ in spans]
        self.spans = tuple(spans)

    def around(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the passage to which a word between two places of the answer belongs, None where to none."""
        place = bisect_right(self._starts, max(start, end - 1)) - 1
        return self.spans[place] if place >= 0 and self.spans[place][1] > start else None


def _none(_: str) -> Iterable[re.Match[str]]:
    return ()


def quotations(
    text: str, shown: Iterable[str], verdicts: Verdicts = _none, *, repeated: Sequence[tuple[int, int]] = ()
) -> Quotations:
    """Return where an answer copies six words or more of one of the texts that were `shown`; in linear time.

    Args:
        text: the answer.
        shown: the texts.
        verdicts: where a text gives verdicts, all of which are the same word.
        repeated: what the answer has to repeat, as its format says, in order: none of these words counts.

    """
    words = _words(text, verdicts)
    if len(words) < _FEWEST:
        return Quotations(())
    known = _known(tuple(shown)) if verdicts is _none else _every_gram(shown, verdicts)
    if known.isdisjoint(_grams(words)):
        return Quotations(())
    copied = [place for place, gram in enumerate(_grams(words)) if gram in known]
    places, weights = list(_places(text, verdicts)), list(map(_weight, words))
    if repeated:
        exempt = Quotations(repeated)
        weights = [0 if exempt.around(*place) else weight for place, weight in zip(places, weights, strict=True)]
    return Quotations([(places[begin][0], places[end - 1][1]) for begin, end in _runs(copied, weights)])


def may_quote(text: str, shown: Iterable[str], ends: frozenset[str]) -> bool:
    """Whether a word of `ends` may stand in a passage that an answer copies; False is certain, and quickly known.

    Args:
        text: the answer.
        shown: the texts.
        ends: words in lower case; of a verdict of several words the last one.

    """
    return not (_is_plain(text) and _vocabulary(tuple(shown)).isdisjoint(ends))


@lru_cache(maxsize=16)
def _vocabulary(shown: tuple[str, ...]) -> frozenset[str]:
    """Return the words of texts, of which few hold a verdict's."""
    return frozenset(word for one in shown for word in _words(one))


@lru_cache(maxsize=16)
def _known(shown: tuple[str, ...]) -> frozenset[int]:
    """Return the grams of texts, which the answers of all samples of a case are compared with."""
    return _every_gram(shown, _none)


def _every_gram(shown: Iterable[str], verdicts: Verdicts) -> frozenset[int]:
    return frozenset(gram for one in shown for gram in _grams(_words(one, verdicts)))


def holds(shown: Iterable[str], passage: str, verdicts: Verdicts) -> bool:
    """Whether one of the texts has the words of a passage in a row, however few and with whichever verdict."""
    words = f" {' '.join(_words(passage, verdicts))} "
    return any(words in f" {' '.join(_words(one, verdicts))} " for one in shown)


def only_quotes(text: str, shown: Iterable[str]) -> bool:
    """Whether an answer is nothing but passages of the texts that were `shown`."""
    spans = quotations(text, shown).spans
    between = zip([0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)], strict=True)
    return bool(spans) and not any(_words(text[start:end]) for start, end in between)


def without_quoted(text: str, shown: Iterable[str], verdicts: Verdicts) -> str:
    """Return an answer without the verdicts that it quotes.

    Args:
        text: the answer.
        shown: the texts it may quote.
        verdicts: where a text gives verdicts.

    """
    given = list(verdicts(text))
    quoted = quotations(text, shown, verdicts) if given else Quotations(())
    kept, end = [], 0
    for match in given:
        if quoted.around(*match.span(match.re.groups)):
            kept += [text[end : match.start()], _OMITTED]
            end = match.end()
    return "".join([*kept, text[end:]])


def quoted_keys(answer: Mapping[str, Any], shown: Iterable[str]) -> list[str]:
    """Return the keys of a JSON object whose values stand in a quotation.

    Prose may quote, and what is no plain value is none that decides. A key is one word: the judge has to write it.
    """
    names = {key.casefold() for key in answer}
    parts: list[str] = []
    places: dict[str, tuple[int, int]] = {}
    end = 0
    for key, value in answer.items():
        plain = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        parts.append(f"{key} {plain}\n")
        start = end + len(key) + 1
        end += len(parts[-1])
        if not isinstance(value, (Mapping, list)) and len(_words(plain[:_LONGEST_PLAIN])) <= _MOST_PLAIN:
            places[key] = (start, start + len(plain))
    quoted = quotations(
        "".join(parts), shown, lambda one: (name for name in _NAME.finditer(one) if name[1].casefold() in names)
    )
    return [key for key, place in places.items() if quoted.around(*place)]


def _words(text: str, verdicts: Verdicts = _none) -> list[str]:
    """Return the words of a text, each as all its spellings are compared."""
    if verdicts is _none and _is_plain(text) and not _NUMBERED_LINE.search(text):
        return text.translate(_APART).split()  # as `_WORDS` finds them
    plain = _unescaped(text)
    if plain.isascii():
        plain = plain.lower()
    pieces = [[word for word in _WORDS.findall(plain, *piece) if word] for piece in _pieces(text, verdicts)]
    found = [word for piece in pieces for word in (*piece, _ANY)][:-1]
    if plain.isascii():
        return found
    keys = {word: _key(word) for word in set(found)}
    return [keys[word] for word in found]


def _is_plain(text: str) -> bool:
    """Whether every run of letters in a text is a word, or the number of a line."""
    return text.isascii() and not any(map(text.__contains__, _MARKS))


def _places(text: str, verdicts: Verdicts) -> Iterator[tuple[int, int]]:
    """Yield where each of the words begins and ends."""
    end, plain = None, _unescaped(text)
    for piece in _pieces(text, verdicts):
        if end is not None:
            yield end, piece[0]
        yield from (match.span(1) for match in _WORDS.finditer(plain, *piece) if match[1] is not None)
        end = piece[1]


def _pieces(text: str, verdicts: Verdicts) -> Iterator[tuple[int, int]]:
    """Yield what stands around the verdicts of a text."""
    end = 0
    for match in verdicts(text):
        for start, after in map(match.span, range(1, match.re.groups + 1)):
            yield end, start
            end = after
    yield end, len(text)


def _unescaped(text: str) -> str:
    """Return a text of the same length in which letters that stand as JSON escapes them are letters.

    In an object they stand as they have to; what the judge quotes before its own key must not take that key along.
    """
    return text if "\\u" not in text or text.lstrip().startswith("{") else _ESCAPED.sub(_letter, text)


def _letter(escaped: re.Match[str]) -> str:
    letter = chr(int(escaped[1], 16))
    return letter.ljust(6, "\u2060") if letter.isalpha() else escaped[0]


def _key(word: str) -> str:
    plain = unicodedata.normalize("NFKD", _UNSEEN_ONE.sub("", word))
    return _UNSEEN_ONE.sub("", plain).casefold()


def _grams(words: Sequence[str]) -> Iterator[int]:
    """Yield a number for every six words in a row."""
    return map(hash, zip(*(words[place:] for place in range(_FEWEST)), strict=False))


def _runs(copied: Sequence[int], weights: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Yield (first, after the last) of the words in a row of which every six are copied, where they are enough."""
    begin = end = copied[0]
    for place in (*copied, len(weights) + 1):
        if place > end:
            if sum(weights[begin:end]) >= _FEWEST:
                yield begin, end
            begin = place
        end = place + _FEWEST


def _weight(word: str) -> float:
    return 0.5 if len(word) == 1 and word >= _FIRST_UNSPACED else 1


REASONING = ("reasoning", "explanation", "comment", "reason", "rationale", "justification", "feedback")
_VERDICT = ("verdict", "label", "score", "value", "grade")
_BESIDE = frozenset(  # what goes with a verdict and is none: of LangSmith's and autoevals' results, too
    {"confidence", "evidence", "metadata", "key", "name", "correction", "evaluator_info", "feedback_config"}
    | {"source_run_id", "target_run_id", "extra", "error"}
)
PROBABILITIES = "probabilities"
_LONGEST_LABEL = 3  # words
_MOST_NAMED = 8
_PLAIN = frozenset({str, bool, int, float, type(None)})  # what most judges answer, told without a closer look


@dataclass(frozen=True, kw_only=True)
class AnswerFields:
    """Fields of `one` answer, of which `verdicts` say its verdict, or else `criteria` with one answer each.

    `probabilities` of one answer are those of its options.
    """

    one: bool
    verdicts: Mapping[str, Any]
    criteria: Mapping[str, Any]
    reasoning: str | None
    probabilities: Mapping[str, Any] | None = None


def answer_fields(value: object) -> AnswerFields | None:
    """Return the fields of a mapping, a pydantic object, a dataclass or a named tuple; None for anything else.

    They are one answer where one of them is called as a verdict is and no other is a verdict, else one a criterion.
    """
    given = _fields(value)
    if given is None:
        return None
    verdicts = {name: given[name] for name in _VERDICT if given.get(name) is not None}
    shares = given[PROBABILITIES] if isinstance(given.get(PROBABILITIES), Mapping) else None
    beside = shares is not None or any(name in given for name in _VERDICT)
    texts = {name: given[name] for name in REASONING if name in given and _is_reasoning(given[name], beside=beside)}
    reasoning = next((text for text in texts.values() if text), None)
    rest = {name: part for name, part in given.items() if name not in texts}
    others = {name for name in rest if name not in _VERDICT and name not in _BESIDE and rest[name] is not shares}
    if beside and not others:
        return AnswerFields(one=True, verdicts=verdicts, criteria={}, reasoning=reasoning, probabilities=shares)
    return AnswerFields(one=False, verdicts={}, criteria=rest, reasoning=reasoning)


def described(value: object) -> str:
    """Return what a value is, by its type and the names of its fields: what they hold may be somebody's secret."""
    kind, given = type(value).__name__, _fields(value)
    if given is None:
        return f"a value of type {kind}"
    names = ", ".join(f"{name!s:.40}" for name in list(given)[:_MOST_NAMED])
    more = ", ..." if len(given) > _MOST_NAMED else ""
    return f"a {kind} with {names}{more}" if given else f"an empty {kind}"


def of_an_array(value: object) -> object:
    """Return what a NumPy scalar or an array of no dimension holds, anything else as it is."""
    item = getattr(value, "item", None)
    return item() if getattr(value, "ndim", None) == 0 and callable(item) else value


def numbered(names: Iterable[str]) -> list[str]:
    """Return the names of several results; of those with the same name the second is `name_2`, and so on."""
    found: dict[str, None] = {}
    for own in names:
        name, number = own, 1
        while name in found:
            number += 1
            name = f"{own}_{number}"
        found[name] = None
    return list(found)


def _fields(value: object) -> Mapping[str, Any] | None:
    if type(value) in _PLAIN or isinstance(value, type):
        return None
    if isinstance(value, Mapping):
        return {str(name): part for name, part in value.items()}
    if isinstance(names := getattr(type(value), "model_fields", None), Mapping):  # pydantic
        return {name: getattr(value, name) for name in names} | (getattr(value, "model_extra", None) or {})
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, tuple) and (named := getattr(value, "_fields", None)) is not None:
        return dict(zip(named, value, strict=True))
    return None


def _is_reasoning(value: object, *, beside: bool) -> bool:
    """Whether a field is a reasoning; `beside` no verdict it may be a criterion: `{"comment": "not good", "tone": 4}`.

    A label has three words at most, and several of them end in no full stop.
    """
    if value is None or not isinstance(value, str) or beside:
        return value is None or isinstance(value, str)
    words = value.split()
    return not words or len(words) > _LONGEST_LABEL or (len(words) > 1 and value.rstrip()[-1] in ".!?")


_BRACKETED = re.compile(r"\[\[([^\[\]\n]{1,200})\]\]")
MARKUP = " \t*_`"  # what a model puts around a verdict, beside straight and curly quotes
_BEFORE = f"{MARKUP}\"'\u201c\u201d\u2018\u2019()"
_AFTER = _BEFORE + "."  # a full stop follows a verdict; before one it would be a decimal point
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}(?:\.[0-9]{1,9})?")
_FENCE = "```"
_AND = f"[{MARKUP}]++"
_CONCLUSION = re.compile(  # a line that says nothing but its verdict, in words that are the same for each
    rf"[#{MARKUP}]*+(?:(?:so|thus|hence|therefore|overall|finally),?{_AND})?(?:(?:my|the){_AND})?(?:(?:final|overall){_AND})?"
    rf"(?:verdict|rating|score|grade|decision|judge?ment|answer|choice|preference|conclusion)(?:{_AND}is)?"
    rf"[:{MARKUP}]*+{_BRACKETED.pattern}[{MARKUP}.]*+",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"[\s*_]*\(?[0-9]{1,9}[.)][\s*_]*")  # the next point of a list, of which nothing follows


@dataclass(frozen=True)
class Grammar:
    """What counts as a verdict: `read` maps one token to a verdict or None."""

    read: Callable[[str], Verdict | None]

    def last_line(self, text: str, *, judged: Iterable[str] = ()) -> Verdict | None:
        """Return the verdict that stands alone on the last non-empty line, or None.

        Markup, quotes, one pair of `[[ ]]` and a final full stop around it are allowed. A label that itself begins or
        ends with such characters is read as written.

        Args:
            text: what the judge answered.
            judged: the texts it was shown: a line that ends a passage of one of them is no verdict.

        """
        return self.word(last_line_of(text, judged=judged))

    def word(self, token: str) -> Verdict | None:
        """Return the verdict that a line is, bare of what `last_line` allows around it, or None."""
        as_written = self.read(token.strip())
        if as_written is not None:
            return as_written
        token = _bare(token)
        if token.startswith("[[") and token.endswith("]]"):
            token = _bare(token[2:-2])
        return self.read(token)

    def last_bracketed(self, text: str, *, judged: Iterable[str] = (), told: Iterable[str] = ()) -> Verdict | None:
        """Return the last `[[verdict]]` of the text that is not quoted, or None.

        Args:
            text: what the judge answered.
            judged: the texts it was shown. A verdict inside a passage of one of them does not count; when one contains
                a bracketed verdict, whichever it is, only one on the last line counts: alone, or after words like those
                of `Rating: [[5]]` that stand before no verdict of a text.
            told: what else it was told. A verdict inside a passage of that does not count either.

        """
        texts = tuple(judged)
        own = without_quoted(text, (*texts, *told), self._bracketed)
        found = [self.read(match[1].strip()) for match in self._bracketed(own)]
        if not found:
            return None
        if not any(any(self._bracketed(shown)) for shown in texts):
            return found[-1]
        concluded = _CONCLUSION.fullmatch(own.rstrip().splitlines()[-1])
        if concluded is not None and not holds(texts, concluded[0], self._bracketed):
            return self.read(concluded[1].strip())
        return self.last_line(own, judged=texts)

    def last_stated(
        self, text: str, stated: re.Pattern[str], *, judged: Iterable[str] = (), told: Iterable[str] = ()
    ) -> Verdict | None:
        """Return the last verdict that the text states and does not quote, else one alone on the last line, or None.

        Args:
            text: what the judge answered.
            stated: finds a statement; its first group is the verdict.
            judged: the texts it was shown.
            told: what else it was told.

        """
        texts = (*judged, *told)
        found = [self.read(match[1]) for match in stated.finditer(without_quoted(text, texts, stated.finditer))]
        return found[-1] if found else self.last_line(text, judged=texts)

    def _bracketed(self, text: str) -> Iterator[re.Match[str]]:
        return (match for match in _BRACKETED.finditer(text) if self.read(match[1].strip()) is not None)


def _bare(token: str) -> str:
    return token.lstrip(_BEFORE).rstrip(_AFTER)


def label_grammar(words: Mapping[str, Verdict]) -> Grammar:
    """Return the grammar of a fixed vocabulary, `{"A": "A", "C": "TIE"}`; case does not matter.

    Raises:
        UsageError: two words for different verdicts read the same.

    """
    folded: dict[str, Verdict] = {}
    for word, verdict in words.items():
        if folded.setdefault(word.casefold(), verdict) != verdict:
            raise UsageError(f"label {word!r} reads like another one when case is ignored: rename one of them.")
    return Grammar(lambda token: folded.get(token.casefold()))


def score_grammar(low: float, high: float, *, whole: bool = True) -> Grammar:
    """Return the grammar of a number between `low` and `high`, both included; `whole` asks for integers."""

    def read(token: str) -> Verdict | None:
        if not _NUMBER.fullmatch(token):
            return None
        number = float(token)
        if not low <= number <= high or (whole and "." in token):
            return None
        return int(number) if whole else number

    return Grammar(read)


def json_of(text: str) -> Any:
    """Return the value of a JSON text; None when it is none, or gives a key of an object twice."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None


def object_of(text: str, *, code: str | None = None) -> Mapping[str, Any] | None:
    """Return the JSON object that a text is, as a whole or in one code fence; None when it is anything else.

    An object in the midst of a text is a quotation, for all one knows, and so is one of two. With the `code` of the
    case, so is one that does not carry it.
    """
    text = text.strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE):
        text = text.removesuffix(_FENCE).partition("\n")[2]
    found = json_of(text)
    if not isinstance(found, Mapping):
        return None
    return found if code is None or str(found.get(CODE)).strip().lower() == code else None


def last_line_of(text: str, *, code: str | None = None, judged: Iterable[str] = ()) -> str:
    """Return the last line that says anything, or "" where it can be no verdict of the judge's own.

    Args:
        text: what the judge answered.
        code: the code of the case: the line must carry it, and what follows the code is returned.
        judged: the texts it was shown: a line that ends a passage of one of them says nothing. Nor does a number with
            a full stop or a bracket after it, which is a point of a list.

    """
    if code is not None:
        return said_after(text, code) or ""
    said = text.rstrip()
    lines = said.splitlines()
    if not lines or _NUMBERED.fullmatch(lines[-1]):
        return ""
    if quotations(said, judged).around(len(said) - len(lines[-1]), len(said)):
        return ""
    return lines[-1]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # the second may come from a quotation whose quotes were not escaped
        raise ValueError("a key given twice")
    return found
