"""Text of a model -> a verdict, or None for unparsed.

Two grammars. Our own judges: the verdict stands alone on the last non-empty line. Wrapped evaluators: the last
bracketed verdict, and alone on the last non-empty line as soon as a judged text contains that bracket itself,
so that a quoted answer cannot forge a verdict. Structured output: one JSON object and nothing else. An answer that
only quotes what it was shown holds no verdict, whatever stands in it. Nothing here ever raises.

What a grammar cannot tell from a verdict: the words of one in a judged text, quoted alone on the last line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import Verdict

__all__ = ["Grammar", "json_of", "label_grammar", "object_of", "only_quotes", "score_grammar"]

_BRACKETED = re.compile(r"\[\[([^\[\]\n]{1,200})\]\]")
_BEFORE = " \t*_`\"'\u201c\u201d\u2018\u2019()"  # markup, straight and curly quotes
_AFTER = _BEFORE + "."  # a full stop follows a verdict; before one it would be a decimal point
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}(?:\.[0-9]{1,9})?")
_FENCE = "```"
_FENCES = (_FENCE, "~~~")
_MARKED = " \t>*_\"'\u201c\u201d\u2018\u2019.\u2026"  # what a quotation adds around a line, before a fence too
_QUOTED = f"{_MARKED}`"
_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 6  # of a quotation
_MOST_LEADING = 3  # lines that lead to one


@dataclass(frozen=True)
class Grammar:
    """What counts as a verdict: `read` maps one token to a verdict or None."""

    read: Callable[[str], Verdict | None]

    def last_line(self, text: str) -> Verdict | None:
        """Return the verdict that stands alone on the last non-empty line, or None.

        Markup, quotes, one pair of `[[ ]]` and a final full stop around it are allowed. A label that itself begins or
        ends with such characters is read as written.
        """
        lines = text.strip().splitlines()
        if not lines:
            return None
        as_written = self.read(lines[-1].strip())
        if as_written is not None:
            return as_written
        token = _bare(lines[-1])
        if token.startswith("[[") and token.endswith("]]"):
            token = _bare(token[2:-2])
        return self.read(token)

    def last_bracketed(self, text: str, *, judged: Iterable[str] = ()) -> Verdict | None:
        """Return the last `[[verdict]]` of the text, or None.

        Args:
            text: what the judge answered.
            judged: the texts it was shown. When one of them contains a bracketed verdict that the answer contains
                too, only a verdict alone on the last line counts.

        """
        found = self._bracketed(text)
        if not found:
            return None
        mine = set(found)
        if any(not mine.isdisjoint(self._bracketed(shown)) for shown in judged):
            return self.last_line(text)
        return found[-1]

    def _bracketed(self, text: str) -> list[Verdict]:
        readings = (self.read(match[1].strip()) for match in _BRACKETED.finditer(text))
        return [verdict for verdict in readings if verdict is not None]


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


def object_of(text: str) -> Mapping[str, Any] | None:
    """Return the JSON object that a text is, as a whole or in one code fence; None when it is anything else.

    An object in the midst of a text is a quotation, for all one knows, and so is one of two.
    """
    text = text.strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE):
        text = text.removesuffix(_FENCE).partition("\n")[2]
    found = json_of(text)
    return found if isinstance(found, Mapping) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # the second may come from a quotation whose quotes were not escaped
        raise ValueError("a key given twice")
    return found


def only_quotes(text: str, judged: Iterable[str]) -> bool:
    """Whether an answer says nothing of its own: all it holds is a passage of one judged text.

    Code fences, marks of quotation and words that lead to what follows (`The answer says:`) do not count; the passage
    may begin and end within a line. Few words are never called a quotation: they may be the judge's own verdict, and a
    text could otherwise silence a verdict by holding it.

    Args:
        text: what the judge answered.
        judged: the texts it was shown.

    """
    said = _said(text)
    passages = ["\n".join(passage) for passage in _passages(said) if _is_long(passage)]
    shown = ["\n".join(_said(one)) for one in judged] if passages else []
    return any(passage in one for passage in passages for one in shown)


def _said(text: str) -> list[str]:
    """Return the lines of a text that say something, bare of what a quotation adds."""
    lines = (line.strip(_QUOTED) for line in text.splitlines() if not line.lstrip(_MARKED).startswith(_FENCES))
    return [line for line in lines if line]


def _passages(said: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield what may be quoted: the lines, without those that lead to it, without what leads to it on the first."""
    yield said
    leading = 0
    while leading < min(len(said), _MOST_LEADING) and said[leading].endswith(":"):
        leading += 1
        yield said[leading:]
    if leading < len(said):
        _, colon, rest = said[leading].partition(":")
        if colon:
            yield [*([] if _FENCE in rest else [rest.strip(_QUOTED)]), *said[leading + 1 :]]


def _is_long(passage: Sequence[str]) -> bool:
    words = 0
    for line in passage:
        words += len(_WORD.findall(line))
        if words >= _FEWEST_WORDS:
            return True
    return False
