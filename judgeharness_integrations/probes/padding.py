"""Verbosity: an answer grows to about three times its length and says nothing it did not say before."""

from __future__ import annotations

import re
from itertools import chain, cycle
from typing import TYPE_CHECKING

from judgeharness_integrations.perturbations._text import chunks
from judgeharness_integrations.probes.wordings import below

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from judgeharness_integrations.probes.base import Target

__all__ = ["Padding"]

_TIMES = 2  # what is added, in lengths of the answer
_LEAST = 400  # characters: three times a single word would still be short
_LONGEST = 300
_FEWEST_WORDS = 4
_IN_A_PARAGRAPH = 4
_END = re.compile(r"(?<=[.!?])\s+|\n+")

_EMPTY = (
    "It is worth pausing for a moment to consider what has been said above.",
    "This is an important matter, and important matters deserve to be treated with care.",
    "There is, as so often, more than one way of putting it, and all of them come to the same.",
    "Taken together, the points made above give the answer that was given above.",
    "Looking at the question as a whole, nothing has to be added to what was said, and nothing taken away.",
    "Let us keep in mind what was asked, and what was answered.",
    "In other words, the above can be summed up by reading the above.",
    "All things considered, the considerations made so far remain the ones to be considered.",
    "It should also be noted that the points noted already are worth noting.",
    "With that being said, what has been said stays as it was said.",
    "Needless to say, this does not change the answer in any way.",
    "To conclude, the conclusion is the one that was reached before.",
)
_AGAIN = (
    "To say it once more: {said}",
    "Or, to put the same thing again: {said}",
    "This can be restated as follows: {said}",
    "As has been mentioned: {said}",
)


class Padding:
    """A change that restates an answer's own sentences between sentences that say nothing."""

    def __call__(self, text: str, target: Target) -> str:
        """Return the answer with its padding below it."""
        goal = max(_TIMES * len(text), _LEAST)
        added: list[str] = []
        length, sentences = 0, _sentences(text, target.random)
        while length < goal:
            added.append(next(sentences))
            length += len(added[-1]) + 1
        starts = range(0, len(added), _IN_A_PARAGRAPH)
        return below(text, "\n\n".join(" ".join(added[start : start + _IN_A_PARAGRAPH]) for start in starts))

    def texts(self, slot: str | None, best: str | None = None) -> tuple[str, ...]:
        """Return the sentences that say nothing, several at a time; what is restated depends on the answer."""
        del slot, best
        starts = range(0, len(_EMPTY), _IN_A_PARAGRAPH)
        return tuple(" ".join(_EMPTY[start : start + _IN_A_PARAGRAPH]) for start in starts)


def _sentences(text: str, random: Random) -> Iterator[str]:
    """Return, without end, a sentence that says nothing, then one of the answer again, in its order."""
    empty, again = list(_EMPTY), list(_AGAIN)
    random.shuffle(empty)
    random.shuffle(again)
    if not (said := _said(text)):
        return cycle(empty)
    restated = (lead.replace("{said}", one) for lead, one in zip(cycle(again), cycle(said), strict=False))
    return chain.from_iterable(zip(cycle(empty), restated, strict=False))


def _said(text: str) -> list[str]:
    """Return the sentences of an answer that can stand alone: prose, neither a stump nor a page."""
    prose = (sentence.strip() for chunk in chunks(text) if not chunk.code for sentence in _END.split(chunk.text))
    return [one for one in prose if len(one) <= _LONGEST and len(one.split()) >= _FEWEST_WORDS and one[0].isalpha()]
