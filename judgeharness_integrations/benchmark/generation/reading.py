"""What the generator answered, read strictly: plans and conversations of the rounds asked for, or a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judgeharness_integrations.benchmark.asking.asker import UnreadableError
from judgeharness_integrations.benchmark.conditions import Conditions
from judgeharness_integrations.benchmark.pair import Blueprint, Blueprints, Conversation, RoundPlan, Turn
from judgeharness_integrations.benchmark.records import clean

__all__ = ["read_blueprints", "read_conversation"]


def read_blueprints(data: Mapping[str, Any], conditions: Conditions) -> Blueprints:
    """Return both plans.

    Raises:
        UnreadableError: a key is missing, a value of another type, a text empty, or the rounds are not 1 to n.

    """
    return Blueprints(better=_plan(data, "better", conditions), worse=_plan(data, "worse", conditions))


def read_conversation(data: Mapping[str, Any], conditions: Conditions) -> Conversation:
    """Return the conversation.

    Raises:
        UnreadableError: see `read_blueprints`.

    """
    turns = tuple(
        Turn(round=number, user=_text(entry, "user", where), assistant=_text(entry, "assistant", where))
        for number, entry, where in _rounds(data, "turns", conditions, "it")
    )
    return Conversation(turns=turns)


def _plan(data: Mapping[str, Any], side: str, conditions: Conditions) -> Blueprint:
    where = f"the {side} plan"
    plan = data.get(side)
    if not isinstance(plan, Mapping):
        raise UnreadableError(f"{where} is missing" if plan is None else f"{where} is no object")
    rounds = tuple(
        RoundPlan(
            round=number,
            user=_text(entry, "user", place),
            chunk=_chunk(entry, place),
            assistant=_text(entry, "assistant", place),
        )
        for number, entry, place in _rounds(plan, "rounds", conditions, where)
    )
    return Blueprint(rounds=rounds, sketch=_text(plan, "sketch", where))


def _rounds(
    data: Mapping[str, Any], key: str, conditions: Conditions, where: str
) -> Iterator[tuple[int, Mapping[str, Any], str]]:
    """Yield number, entry and the place of each round, once all of them are there."""
    entries = data.get(key)
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise UnreadableError(f"{where} has no list {key!r}")
    if len(entries) != conditions.n_rounds:
        raise UnreadableError(f"{where} has {_counted(len(entries))}, {conditions.n_rounds} were asked for")
    for number, entry in enumerate(entries, start=1):
        place = f"round {number} of {where}"
        if not isinstance(entry, Mapping):
            raise UnreadableError(f"{place} is no object")
        said = entry.get("round")
        if type(said) is not int or said != number:
            raise UnreadableError(f"{place} is not numbered {number}")
        yield number, entry, place


def _counted(rounds: int) -> str:
    return "1 round" if rounds == 1 else f"{rounds} rounds"


def _text(entry: Mapping[str, Any], key: str, where: str) -> str:
    text = entry.get(key)
    if not isinstance(text, str):
        raise UnreadableError(f"{where} has no text {key!r}")
    cleaned = clean(text).strip()
    if not cleaned:
        raise UnreadableError(f"{key!r} is empty in {where}")
    return cleaned


def _chunk(entry: Mapping[str, Any], where: str) -> str | None:
    """Return the chunk's id; documents show it in brackets, and so do some answers."""
    chunk = entry.get("chunk")
    if chunk is not None and not isinstance(chunk, str):
        raise UnreadableError(f"'chunk' is neither a text nor null in {where}")
    return clean(chunk or "").strip().removeprefix("[").removesuffix("]").strip() or None
