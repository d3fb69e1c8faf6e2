"""The first layer: is it a pair at all? Nobody is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from judgeharness_integrations.benchmark.conditions import Conditions
from judgeharness_integrations.benchmark.pair import (
    Blueprint,
    Blueprints,
    Conversation,
    Conversations,
    LayerResult,
    RoundPlan,
    Turn,
)

__all__ = ["MOST_TIMES_LONGER", "form_result"]

_MARK = re.compile(r"^\s*\[Round \d+\] (User|Assistant):", re.MULTILINE)  # as `Conversation.text` begins a round's text

MOST_TIMES_LONGER = 3.0
"""How many times as long as the other one a conversation may be: beyond that its length alone gives the side away."""


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
        yield f"{what} has {_counted(len(numbers))}, {conditions.n_rounds} were asked for"
    elif numbers != list(range(1, len(numbers) + 1)):
        yield f"the rounds of {what} are numbered {', '.join(map(str, numbers))}"
    for place, entry in enumerate(rounds, start=1):
        for who, text in (("user", entry.user), ("assistant", entry.assistant)):
            if not text.strip():
                yield f"the {who} says nothing in round {place} of {what}"
            elif _MARK.search(text):
                yield f"what the {who} says in round {place} of {what} begins another round"


def _counted(rounds: int) -> str:
    return "1 round" if rounds == 1 else f"{rounds} rounds"


def _said(plan: Blueprint) -> list[tuple[str, str]]:
    return [(entry.user, entry.assistant) for entry in plan.rounds]


def _characters(conversation: Conversation) -> int:
    return sum(len(turn.user) + len(turn.assistant) for turn in conversation.turns)
