"""One request to a model: known from the journal, or asked within limits and budget and kept before it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Generic, TypeVar

from judgeharness_integrations.benchmark.asking.journal import Asked, Journal
from judgeharness_integrations.chatmodels import ChatModel, Completion, FunctionModel, Prompt, parsed_object
from judgeharness_integrations.execution.attempting import CallPolicy
from judgeharness_integrations.execution.budget import Budget
from judgeharness_integrations.execution.limiter import limiter_for
from judgeharness_integrations.execution.observing import Spans
from judgeharness_integrations.prices import Spent, spent_by

__all__ = ["READINGS", "Answer", "AskError", "Asker", "UnreadableError"]

_T = TypeVar("_T")

READINGS: Final = 3
"""How many answers are asked for until one can be read."""


class UnreadableError(ValueError):
    """An answer that does not say what was asked for; its text says what is wrong with it."""


class AskError(Exception):
    """A model could not be asked, however often it was tried: the item stays unfinished and is asked again later."""


@dataclass(frozen=True, kw_only=True)
class Answer(Generic[_T]):
    """What was read: `value`, or None and the `reason` why none of the `answers` could be read."""

    value: _T | None
    answers: int
    reason: str | None = None


@dataclass(kw_only=True)
class Asker:
    """Asks models, each answer once.

    `readings`: how many answers are asked for until one can be read. `spans` watch the calls.
    """

    journal: Journal
    budget: Budget
    policy: CallPolicy = field(default_factory=CallPolicy)
    spans: Spans = field(default_factory=lambda: Spans(()))
    readings: int = READINGS

    async def ask(
        self, model: ChatModel, prompt: Prompt, *, item: str, read: Callable[[Mapping[str, Any]], _T]
    ) -> Answer[_T]:
        """Return what `read` makes of the first answer it can read; it raises `UnreadableError` for others.

        Raises:
            AskError: an attempt failed in the end.
            BudgetExhausted: nothing may be spent any more.

        """
        reason = ""
        for attempt in range(self.readings):
            asked = Asked.of(model, prompt, item=item, attempt=attempt)
            completion = await self._completion(model, replace(prompt, sample=attempt), asked)
            try:
                return Answer(value=read(_object(completion, prompt)), answers=attempt + 1)
            except UnreadableError as error:
                reason = str(error)
        return Answer(value=None, answers=self.readings, reason=reason)

    async def _completion(self, model: ChatModel, prompt: Prompt, asked: Asked) -> Completion:
        known = self.journal.find(asked)
        if known is not None:
            return known
        limiter = limiter_for(model.name)
        await limiter.acquire()
        try:
            with self.spans.around("call", f"{asked.step} {asked.item}"):
                return await self._asked(model, prompt, asked)
        finally:
            limiter.release()

    async def _asked(self, model: ChatModel, prompt: Prompt, asked: Asked) -> Completion:
        answer: Completion | Exception
        answer, tries = await self.policy.attempt(
            partial(model.complete, prompt),
            self.budget,
            limiter=limiter_for(model.name),
            spent=partial(_spent, model.name),
            book=partial(self.journal.book, asked),
        )
        if isinstance(answer, Exception):
            what = f"{type(answer).__name__}: {answer}".rstrip(": ")
            place = model.place(answer) if isinstance(model, FunctionModel) else None
            what = what if place is None else f"{what} ({place})"
            raise AskError(f"{asked.step} of {asked.item}: {what}") from answer
        return self.journal.add(asked, answer, tries=tries)


def _spent(model: str, answer: object) -> Spent:
    return spent_by(answer, default_model=model)


def _object(completion: Completion, prompt: Prompt) -> Mapping[str, Any]:
    if completion.ended == "refused":
        raise UnreadableError("the model refused")
    if completion.ended == "truncated":
        raise UnreadableError("the answer was cut off by the token limit")
    found = parsed_object(completion, prompt)
    if found is None:
        raise UnreadableError("the answer is no JSON object")
    return found
