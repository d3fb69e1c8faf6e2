"""Passages that an answer copies from what its judge was shown: nothing inside one is a verdict of the judge's own.

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
from functools import lru_cache
from typing import Any, Final, TypeAlias

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
_NUMBERED = re.compile(r"^[^\w\n]{0,9}+[0-9]", re.MULTILINE)
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
    if verdicts is _none and _is_plain(text) and not _NUMBERED.search(text):
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
