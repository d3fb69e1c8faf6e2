"""What people may write as gold: as the `answer` column of a labelling sheet says it, and as it is read back."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal, TypeAlias

from judgeharness_integrations.calibration.measure import graded_label
from judgeharness_integrations.verdictlog.row import ABSTAIN, Verdict, is_number

__all__ = ["Answers", "answers_for"]

Kind: TypeAlias = Literal["words", "number", "label", "labels", "any"]

_GRADED, _PREFERENCE = ("PASS", "FAIL"), ("A", "B", "TIE")
_OR = " / "
_SOME_OF = "some of, separated by semicolons: "
_DECIMAL = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_NUMBER = re.compile(r"a number(?: from (\S+) to (\S+))?")


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What answers a criterion: one of `words`, a number (on `scale`), one label, several labels, or anything.

    Several labels are some of `words` where there are any.
    """

    kind: Kind = "any"
    words: tuple[str, ...] = ()
    scale: tuple[float, float] | None = None

    def __str__(self) -> str:
        """Return the text for people, which `parse` reads."""
        if self.kind == "words":
            return _OR.join(self.words)
        if self.kind == "labels" and self.words:
            return _SOME_OF + "; ".join(self.words)
        if self.kind == "number":
            return "a number" if self.scale is None else f"a number from {self.scale[0]:g} to {self.scale[1]:g}"
        return _TEXTS[self.kind]

    @classmethod
    def of_words(cls, words: tuple[str, ...]) -> Answers:
        """Return that one of the words answers; any label does where a sheet could not tell the words apart."""
        plain = len(words) > 1 and not any(_OR in word or word != word.strip() for word in words)
        return cls(kind="words", words=words) if plain else cls(kind="label")

    @classmethod
    def parse(cls, text: str) -> Answers:
        """Return what a text of `str` stands for; anything for a text it never returns."""
        if numeric := _NUMBER.fullmatch(text):
            low, high = (_number(end or "") for end in numeric.groups())
            return cls(kind="number", scale=None if low is None or high is None else (low, high))
        if text.startswith(_SOME_OF):
            return cls(kind="labels", words=tuple(text.removeprefix(_SOME_OF).split("; ")))
        words = tuple(text.split(_OR))
        if len(words) > 1:
            return cls(kind="words", words=words)
        return cls(kind=_KINDS.get(text, "any"))

    def read(self, said: str) -> Verdict | None:
        """Return the label somebody wrote, None where it is not one of those allowed."""
        if said.casefold() == ABSTAIN.casefold():  # only a harness does; who cannot tell leaves gold empty
            return None
        if self.kind == "words":
            graded = graded_label(said) if set(self.words) == set(_GRADED) else None
            return {word.casefold(): word for word in self.words}.get(said.casefold(), graded)
        if self.kind == "labels":
            return self._set(said)
        number = None if self.kind == "label" else _number(said)
        if number is None:
            return None if self.kind == "number" else said
        return number if self.scale is None or self.scale[0] <= number <= self.scale[1] else None

    def _set(self, said: str) -> frozenset[str] | None:
        """Return the labels between semicolons; a semicolon alone is the empty set."""
        labels = [label.strip() for label in said.split(";") if label.strip()]
        if not self.words:
            return frozenset(labels)
        known = {word.casefold(): word for word in self.words}
        meant = [known.get(label.casefold()) for label in labels]
        return None if None in meant else frozenset(label for label in meant if label is not None)


_TEXTS: dict[Kind, str] = {
    "label": "a label",
    "labels": "labels, separated by semicolons",
    "any": "a label or a number",
}
_KINDS: dict[str, Kind] = {text: kind for kind, text in _TEXTS.items()}


def _number(text: str) -> float | None:
    """Return a plain decimal as a number, a whole one without a point as an int."""
    if not _DECIMAL.fullmatch(text):
        return None
    return float(text) if "." in text else int(text)


def answers_for(verdicts: AbstractSet[Verdict], *, pairwise: bool) -> Answers:
    """Return what can be compared with such verdicts; which of them was given is not in it.

    Args:
        verdicts: of the samples and decisions about a criterion.
        pairwise: two answers are compared.

    """
    if any(map(is_number, verdicts)):
        return Answers(kind="number")
    if any(isinstance(verdict, frozenset) for verdict in verdicts):
        return Answers(kind="labels")
    for words, fits in ((_PREFERENCE, pairwise), (_GRADED, bool(verdicts))):
        if fits and verdicts <= set(words):
            return Answers(kind="words", words=words)
    return Answers(kind="label" if verdicts else "any")
