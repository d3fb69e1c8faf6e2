"""Text of a model -> a verdict, or None for unparsed.

Two grammars. Our own judges: the verdict stands alone on the last non-empty line. Wrapped evaluators: the last
bracketed verdict, and alone on the last non-empty line as soon as a judged text contains that bracket itself,
so that a quoted answer cannot forge a verdict. Neither ever raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import Verdict

__all__ = ["Grammar", "label_grammar", "score_grammar"]

_BRACKETED = re.compile(r"\[\[([^\[\]\n]{1,200})\]\]")
_BEFORE = " \t*_`\"'\u201c\u201d\u2018\u2019()"  # markup, straight and curly quotes
_AFTER = _BEFORE + "."  # a full stop follows a verdict; before one it would be a decimal point
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}(?:\.[0-9]{1,9})?")


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
