"""What is checked of a pair without asking anybody: its form, quotes in the documents, and counts of the layers."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from judgeharness_integrations.benchmark.pair import (
    LAYERS,
    Blueprint,
    Blueprints,
    Conditions,
    Conversation,
    Conversations,
    Layer,
    LayerResult,
    Pair,
    RoundPlan,
    Turn,
)

__all__ = ["MOST_TIMES_LONGER", "Evidence", "LayerTally", "form_result", "rounds_counted", "tallies"]

_MARK = re.compile(r"^\s*\[Round \d+\] (User|Assistant):", re.MULTILINE)  # as `Conversation.text` begins a round's text
MOST_TIMES_LONGER = 3.0
"""How many times as long as the other one a conversation may be: beyond that its length alone gives the side away."""

_QUOTES: Final = '"`\u00ab\u00bb\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u2039\u203a'
_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_TYPED: Final = str.maketrans({**dict.fromkeys(_QUOTES, "'"), **dict.fromkeys(_DASHES, "-"), "\u00ad": None})


def form_result(
    blueprints: Blueprints | None, conversations: Conversations | None, conditions: Conditions, *, reason: str | None
) -> LayerResult:
    """Return whether plans and conversations have the form that was asked for, as far as they were written.

    Args:
        blueprints: both plans; None: they were not written, or a pair from elsewhere has none. One from elsewhere may
            have texts without rounds beside its conversations, which have no form.
        conversations: both conversations; None: not written yet.
        conditions: what the pair was to be.
        reason: why what was written could not be read; None where it could.

    """
    reasons = [] if reason is None else [reason]
    counts: dict[str, int] = {}
    if blueprints is not None and (blueprints.in_rounds or conversations is None):
        reasons += _plan_reasons(blueprints, conditions)
    if conversations is not None:
        reasons += _conversation_reasons(conversations, conditions)
        counts = {
            "characters_better": _characters(conversations.better),
            "characters_worse": _characters(conversations.worse),
        }
    if blueprints is None and conversations is None and not reasons:
        reasons.append("nothing was written")
    return LayerResult(layer="form", status="failed" if reasons else "passed", reasons=tuple(reasons), counts=counts)


class Evidence:
    """The texts of a pair's chunks, in which quotes are looked up.

    Case, white space, the shape of quotation marks and dashes, ligatures and soft hyphens make no difference. Quotation
    marks, dots and spaces around a quote are no part of it. It may run over the border of two chunks.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        """Take the chunks' texts, in their order."""
        self._text = _plain(" ".join(texts))

    def holds(self, quote: str) -> bool:
        """Whether a quote stands there; one without words stands nowhere."""
        words = _plain(quote).strip("'. ")
        return bool(words) and words in self._text


@dataclass(frozen=True, kw_only=True)
class LayerTally:
    """One layer over `pairs`, which passed, failed, unread and not_run sum to.

    `because`: why answers could not be read, with how many pairs, most frequent first.
    """

    layer: Layer
    pairs: int
    passed: int
    failed: int
    unread: int
    not_run: int
    because: tuple[tuple[str, int], ...] = ()


def tallies(pairs: Sequence[Pair]) -> list[LayerTally]:
    """Return a tally of every layer, in their order; a layer that a pair says nothing of has not run."""
    return [_tally(layer, pairs) for layer in LAYERS]


def _plan_reasons(blueprints: Blueprints, conditions: Conditions) -> Iterator[str]:
    for what, plan in (("the better plan", blueprints.better), ("the worse plan", blueprints.worse)):
        yield from _rounds(what, plan.rounds, conditions)
        if not plan.sketch.strip():
            yield f"{what} has no sketch"
    if _said(blueprints.better) == _said(blueprints.worse):
        yield "both plans are the same"


def _conversation_reasons(conversations: Conversations, conditions: Conditions) -> Iterator[str]:
    better, worse = conversations.better, conversations.worse
    yield from _rounds("the better conversation", better.turns, conditions)
    yield from _rounds("the worse conversation", worse.turns, conditions)
    if better == worse:
        yield "both conversations are the same"
    (shorter, _), (longer, which) = sorted([(_characters(better), "better"), (_characters(worse), "worse")])
    if shorter and longer > MOST_TIMES_LONGER * shorter:
        times = f"{longer / shorter:.1f} times as long as the other one"
        yield f"the {which} conversation is {times} ({longer} and {shorter} characters)"


def _rounds(what: str, rounds: Sequence[RoundPlan | Turn], conditions: Conditions) -> Iterator[str]:
    numbers = [entry.round for entry in rounds]
    if len(numbers) != conditions.n_rounds:
        yield f"{what} has {rounds_counted(len(numbers))}, {conditions.n_rounds} were asked for"
    elif numbers != list(range(1, len(numbers) + 1)):
        yield f"the rounds of {what} are numbered {', '.join(map(str, numbers))}"
    for place, entry in enumerate(rounds, start=1):
        for who, text in (("user", entry.user), ("assistant", entry.assistant)):
            if not text.strip():
                yield f"the {who} says nothing in round {place} of {what}"
            elif _MARK.search(text):
                yield f"what the {who} says in round {place} of {what} begins another round"


def rounds_counted(rounds: int) -> str:
    """Return a number of rounds in words."""
    return "1 round" if rounds == 1 else f"{rounds} rounds"


def _said(plan: Blueprint) -> list[tuple[str, str]]:
    return [(entry.user, entry.assistant) for entry in plan.rounds]


def _characters(conversation: Conversation) -> int:
    return sum(len(turn.user) + len(turn.assistant) for turn in conversation.turns)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_TYPED).casefold().split())


def _tally(layer: Layer, pairs: Sequence[Pair]) -> LayerTally:
    said = [result for pair in pairs for result in pair.verification.layers if result.layer == layer]
    statuses = Counter(result.status for result in said)
    because = Counter(reason for result in said if result.status == "unread" for reason in result.reasons)
    ran = statuses["passed"] + statuses["failed"] + statuses["unread"]
    return LayerTally(
        layer=layer,
        pairs=len(pairs),
        passed=statuses["passed"],
        failed=statuses["failed"],
        unread=statuses["unread"],
        not_run=len(pairs) - ran,
        because=tuple(sorted(because.items(), key=lambda entry: (-entry[1], entry[0]))),
    )
