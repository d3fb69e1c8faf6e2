"""What is checked of a pair without asking anybody, and how many pairs came through each layer and step."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pydantic import Field

from judgeharness_integrations.analysis.ranking.studying import NO_VALUE
from judgeharness_integrations.verdictlog.encoding import counted

from ..pair import (
    LAYERS,
    Blueprint,
    Blueprints,
    Conditions,
    Conversation,
    Conversations,
    Layer,
    LayerResult,
    Pair,
    Record,
    RoundPlan,
    Turn,
)
from .curation import Step

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
    if _turn_texts(blueprints.better) == _turn_texts(blueprints.worse):
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
    return counted(rounds, "round")


def _turn_texts(plan: Blueprint) -> list[tuple[str, str]]:
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


Ending: TypeAlias = str
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_CURATED: Final = ("flagged", "ambiguous", "unanimous_right", "unanimous_wrong", "unanswered", "hardest")


class FlowRow(Record):
    """Pairs with one `value` in a `column` (None: all), each counted in one of the endings, which sum to `planned`.

    `unfinished`: not written yet; `form` to `grounding`: rejected there; `unread`: no answer of the verifier could be
    read; `unverified`: it was not asked; `accepted`. `judged`: those of the last three that a judge was asked about.
    """

    column: str | None
    value: str
    planned: int = Field(ge=0)
    unfinished: int = Field(ge=0)
    form: int = Field(ge=0)
    coherence: int = Field(ge=0)
    adherence: int = Field(ge=0)
    grounding: int = Field(ge=0)
    unread: int = Field(ge=0)
    unverified: int = Field(ge=0)
    accepted: int = Field(ge=0)
    judged: int = Field(ge=0)


class Reason(Record):
    """Why a layer rejected pairs: what was said of the first of them; one pair may have several reasons.

    `pairs`: how many have a reason alike, but for numbers and details; `example`: the id of the first of them.
    """

    layer: Layer
    reason: str
    pairs: int = Field(ge=1)
    example: str


def flow(
    pairs: Iterable[Pair], planned: Sequence[Conditions], *, judged: Collection[str], columns: Sequence[str]
) -> tuple[FlowRow, ...]:
    """Return a row for all pairs, then for each column one for each value.

    Args:
        pairs: that were written.
        planned: conditions of all pairs, written or not.
        judged: ids of pairs that a judge was asked about.
        columns: of conditions: domain, failure_type, behaviour, n_rounds ...

    """
    endings = {pair.pair_id: _ending(pair) for pair in pairs}
    rows = [_row(None, "all", planned, endings, judged)]
    for column in columns:
        groups: dict[Any, list[Conditions]] = {}
        for one in planned:
            groups.setdefault(getattr(one, column), []).append(one)
        rows += [_row(column, str(value) or NO_VALUE, groups[value], endings, judged) for value in sorted(groups)]
    return tuple(rows)


def reasons(pairs: Iterable[Pair], *, most: int = 5) -> tuple[Reason, ...]:
    """Return the most frequent reasons of each layer that rejected pairs, layer by layer."""
    return tuple(_reasons(list(pairs), most))


class Survival(Record):
    """One step: of the `entered` pairs it took `lost`, which leaves `left`.

    `rate`: left / entered; `share`: left of all planned pairs; None of no pairs. `written`: those not written yet are
    lost; `form` to `grounding`: rejected by that layer; `judged`: no judge was asked about them, in the mode the
    curation goes by; the others as in `Step`.
    """

    step: str
    entered: int = Field(ge=0)
    lost: int = Field(ge=0)
    left: int = Field(ge=0)
    rate: float | None = Field(ge=0, le=1)
    share: float | None = Field(ge=0, le=1)


def survival(made: FlowRow, curated: Step | None) -> tuple[Survival, ...]:
    """Return every step from the plan on; up to verification where nobody was asked.

    Args:
        made: what became of all planned pairs.
        curated: what became of all judged ones; None where nobody was asked.

    """
    rows: list[Survival] = []
    left = made.planned
    for step, lost in _losses(made, curated):
        entered, left = left, left - lost
        rows.append(
            Survival(
                step=step,
                entered=entered,
                lost=lost,
                left=left,
                rate=left / entered if entered else None,
                share=left / made.planned if made.planned else None,
            )
        )
    return tuple(rows)


def _ending(pair: Pair) -> Ending:
    failed = pair.verification.failed
    if failed is not None:
        return failed.layer
    if pair.state == "accepted":
        return "accepted"
    return "unread" if any(layer.status == "unread" for layer in pair.verification.layers) else "unverified"


def _row(
    column: str | None, value: str, planned: Sequence[Conditions], endings: dict[str, Ending], judged: Collection[str]
) -> FlowRow:
    counts = Counter(endings.get(one.pair_id, "unfinished") for one in planned)
    through = ("unread", "unverified", "accepted")
    asked = sum(one.pair_id in judged and endings.get(one.pair_id) in through for one in planned)
    names = ("unfinished", *LAYERS, *through)
    return FlowRow(
        column=column, value=value, planned=len(planned), judged=asked, **{name: counts[name] for name in names}
    )


def _reasons(pairs: Sequence[Pair], most: int) -> Iterator[Reason]:
    for layer in LAYERS:
        found: dict[str, dict[str, str]] = {}
        for pair in pairs:
            failed = pair.verification.failed
            if failed is not None and failed.layer == layer:
                for reason in failed.reasons:
                    found.setdefault(_kind(reason), {}).setdefault(pair.pair_id, reason)
        for _, said in sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0]))[:most]:
            example, reason = next(iter(said.items()))
            yield Reason(layer=layer, reason=reason, pairs=len(said), example=example)


def _kind(reason: str) -> str:
    """Return what reasons that differ in rounds and details have in common."""
    return _NUMBER.sub("N", reason.partition(":")[0])


def _losses(made: FlowRow, curated: Step | None) -> Iterator[tuple[str, int]]:
    yield "written", made.unfinished
    for layer in LAYERS:
        yield layer, getattr(made, layer)
    if curated is not None:
        yield "judged", made.unread + made.unverified + made.accepted - curated.judged
        for step in _CURATED:
            yield step, getattr(curated, step)
