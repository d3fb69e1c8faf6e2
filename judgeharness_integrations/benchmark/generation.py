"""One pair, from its conditions to its verification: plans, then both conversations, each layer once it can run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from judgeharness_integrations.judging.chatmodels import ChatModel, Prompt
from judgeharness_integrations.verdictlog.encoding import counted

from .asker import MAYBE_TEXT, ROUND, TEXT, Answer, Asker, Material, UnreadableError, list_of, object_of, prompt
from .pair import (
    Blueprint,
    Blueprints,
    Conditions,
    Conversation,
    Conversations,
    LayerResult,
    Pair,
    RoundPlan,
    Turn,
    Which,
    clean,
)
from .results.checks import form_result, rounds_counted
from .verification import adherence, cascade, coherence, grounding

_PLANNED: Final = {"round": ROUND, "user": TEXT, "chunk": MAYBE_TEXT, "assistant": TEXT}
_PLAN: Final = {"sketch": TEXT, "rounds": list_of("planned_round", _PLANNED)}
_BLUEPRINTS: Final = object_of(
    "blueprints", {"better": object_of("better_plan", _PLAN), "worse": object_of("worse_plan", _PLAN)}
)
_TURN: Final = {"round": ROUND, "user": TEXT, "assistant": TEXT}
_CONVERSATION: Final = object_of("conversation", {"turns": list_of("turn", _TURN)})


async def generated(
    conditions: Conditions,
    material: Material,
    *,
    generator: ChatModel,
    verifier: ChatModel | None,
    min_grounded: float,
    asker: Asker,
) -> Pair:
    """Return the pair of conditions, as far as it comes: nothing more is asked about one that a layer failed.

    Args:
        conditions: what it is to be.
        material: what the models are given for it.
        generator: writes plans and conversations.
        verifier: checks the plans before, and the conversations after they are written; None: the form alone is.
        min_grounded: share of a turn's claims that must be grounded.
        asker: asks.

    A verifier whose answer about the plans cannot be read says nothing against them: the conversations are written all
    the same, and the pair stays unverified.

    Raises:
        AskError, BudgetExhausted: see `Asker.ask`; answers so far are kept.

    """
    writing = _Writing(
        conditions=conditions,
        material=material,
        generator=generator,
        verifier=verifier,
        min_grounded=min_grounded,
        asker=asker,
        made=Pair(conditions=conditions, generator=generator.name),
    )
    return await writing.pair()


@dataclass(kw_only=True)
class _Writing:
    """The pair under way; `made` is what there is of it."""

    conditions: Conditions
    material: Material
    generator: ChatModel
    verifier: ChatModel | None
    min_grounded: float
    asker: Asker
    made: Pair

    async def pair(self) -> Pair:
        """Return it with what was checked of it."""
        layers = await self._layers()
        verifier = None if self.verifier is None else self.verifier.name
        return self._with(verification=cascade(layers, verifier=verifier, min_grounded=self.min_grounded))

    async def _layers(self) -> list[LayerResult]:
        plans, reason = await self._plans()
        self._with(blueprints=plans)
        form = form_result(plans, None, self.conditions, reason=reason)
        if plans is None or form.status != "passed":
            return [form]
        checked: list[LayerResult] = []
        if self.verifier is not None:
            checked.append(await coherence(self.made, self.material, verifier=self.verifier, asker=self.asker))
            if checked[0].status == "failed":
                return [form, *checked]
        conversations, reason = await self._conversations(plans)
        self._with(conversations=conversations)
        form = form_result(plans, conversations, self.conditions, reason=reason)
        if form.status == "passed" and all(result.status == "passed" for result in checked):
            checked += await self._conversations_checked()
        return [form, *checked]

    async def _conversations_checked(self) -> list[LayerResult]:
        if self.verifier is None:
            return []
        kept = await adherence(self.made, self.material, verifier=self.verifier, asker=self.asker)
        if kept.status != "passed":
            return [kept]
        rests = await grounding(
            self.made, self.material, verifier=self.verifier, min_grounded=self.min_grounded, asker=self.asker
        )
        return [kept, rests]

    async def _plans(self) -> tuple[Blueprints | None, str | None]:
        answer = await self.asker.ask(
            self.generator,
            blueprints_prompt(self.material),
            item=self.conditions.pair_id,
            read=partial(read_blueprints, conditions=self.conditions),
        )
        return answer.value, _reason("the plans", answer)

    async def _conversations(self, plans: Blueprints) -> tuple[Conversations | None, str | None]:
        better, reason = await self._conversation(plans.better, "better")
        if better is None:
            return None, reason
        worse, reason = await self._conversation(plans.worse, "worse")
        return (None, reason) if worse is None else (Conversations(better=better, worse=worse), None)

    async def _conversation(self, plan: Blueprint, side: Which) -> tuple[Conversation | None, str | None]:
        answer = await self.asker.ask(
            self.generator,
            conversation_prompt(self.material, plan, side=side),
            item=self.conditions.pair_id,
            read=partial(read_conversation, conditions=self.conditions),
        )
        return answer.value, _reason(f"the {side} conversation", answer)

    def _with(self, **parts: object) -> Pair:
        self.made = self.made.model_copy(update=parts)
        return self.made


def blueprints_prompt(material: Material) -> Prompt:
    """Return the request for both plans, `{better: {sketch, rounds: [{round, user, chunk, assistant}]}, worse}`."""
    given = [("Conditions", material.conditions_text()), ("Documents", material.text)]
    return prompt("blueprints", given, _BLUEPRINTS, template=None, **_numbers(material))


def conversation_prompt(material: Material, plan: Blueprint, *, side: Which) -> Prompt:
    """Return the request for the conversation of a plan, `{turns: [{round, user, assistant}]}`.

    It is told of its own side alone: nothing in it says what the assistant of the other one does.
    """
    given = [
        ("Conditions", material.conditions_text(side)),
        ("Documents", material.text),
        ("Plan", json.dumps(plan.to_dict(), indent=2, ensure_ascii=False)),
    ]
    return prompt(f"conversation_{side}", given, _CONVERSATION, template=None, **_numbers(material))


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


def _reason(what: str, answer: Answer[Any]) -> str | None:
    if answer.reason is None:
        return None
    times = counted(answer.answers, "answer")
    return f"{what} cannot be used ({answer.reason}; {times})"


def _numbers(material: Material) -> dict[str, int]:
    return {"n_rounds": material.conditions.n_rounds, "flawed_round": material.conditions.flawed_round}


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
        raise UnreadableError(f"{where} has {rounds_counted(len(entries))}, {conditions.n_rounds} were asked for")
    for number, entry in enumerate(entries, start=1):
        place = f"round {number} of {where}"
        if not isinstance(entry, Mapping):
            raise UnreadableError(f"{place} is no object")
        said = entry.get("round")
        if type(said) is not int or said != number:
            raise UnreadableError(f"{place} is not numbered {number}")
        yield number, entry, place


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
