"""One pair, from its conditions to its verification: plans, then both conversations, each layer once it can run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from judgeharness_integrations.benchmark.asking.asker import Answer, Asker
from judgeharness_integrations.benchmark.conditions import Conditions
from judgeharness_integrations.benchmark.generation.material import Material, Which
from judgeharness_integrations.benchmark.generation.prompts import blueprints_prompt, conversation_prompt
from judgeharness_integrations.benchmark.generation.reading import read_blueprints, read_conversation
from judgeharness_integrations.benchmark.pair import (
    Blueprint,
    Blueprints,
    Conversation,
    Conversations,
    LayerResult,
    Pair,
)
from judgeharness_integrations.benchmark.verification.adherence import adherence
from judgeharness_integrations.benchmark.verification.cascade import cascade
from judgeharness_integrations.benchmark.verification.coherence import coherence
from judgeharness_integrations.benchmark.verification.form import form_result
from judgeharness_integrations.benchmark.verification.grounding import grounding
from judgeharness_integrations.chatmodels import ChatModel

__all__ = ["generated"]


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


def _reason(what: str, answer: Answer[Any]) -> str | None:
    if answer.reason is None:
        return None
    times = "1 answer" if answer.answers == 1 else f"{answer.answers} answers"
    return f"{what} cannot be used ({answer.reason}; {times})"
