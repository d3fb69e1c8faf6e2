"""Requests to models: known from the journal, or asked within limits and budget, kept, and read strictly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Final, Generic, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.analysis.usage import spent_by
from judgeharness_integrations.judging.chatmodels import ChatModel, Completion, FunctionModel, Prompt, parsed_object
from judgeharness_integrations.judging.execution.attempting import CallPolicy
from judgeharness_integrations.judging.execution.limiter import limiter_for
from judgeharness_integrations.judging.execution.observing import Spans
from judgeharness_integrations.judging.execution.rates import Rates
from judgeharness_integrations.judging.execution.retrying import Budget, BudgetExhausted
from judgeharness_integrations.judging.marks import MARKS, material_of

from .folder import Asked, Journal
from .pair import Behaviour, Blueprints, Chunk, Conditions, Document, FailureType, Taxonomy, Which, chunks_of, clean

_T = TypeVar("_T")
READINGS: Final = 3
"""How many answers are asked for until one can be read."""

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")
_LONGEST_WORDS = 300


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
            spent=partial(spent_by, default_model=model.name),
            book=partial(self.journal.book, asked),
        )
        if isinstance(answer, Exception):
            what = f"{type(answer).__name__}: {answer}".rstrip(": ")
            place = model.place(answer) if isinstance(model, FunctionModel) else None
            what = what if place is None else f"{what} ({place})"
            raise AskError(f"{asked.step} of {asked.item}: {what}") from answer
        return self.journal.add(asked, answer, tries=tries)


@dataclass(frozen=True, kw_only=True)
class Unfinished(Generic[_Item]):
    """An item that could not be made now, and why; what it was answered so far is kept."""

    item: _Item
    reason: str


@contextmanager
def limited(models: Sequence[ChatModel], *, max_concurrency: int, rates: Rates | None = None) -> Iterator[None]:
    """Declare a run of up to so many calls of each model at a time."""
    with ExitStack() as stack:
        for name in {model.name for model in models}:
            stack.enter_context(limiter_for(name).run(max_concurrency, rates=rates))
        yield


async def worked(
    items: Iterable[_Item], make: Callable[[_Item], Awaitable[_Made]], *, max_concurrency: int
) -> AsyncGenerator[_Made | Unfinished[_Item], None]:
    """Yield what `make` makes of each item, in the order of the items, with so many of them under way.

    One that a model could not be asked about is `Unfinished`; so is every one after the budget has ended. Any other
    error of `make` is raised, after those under way were cancelled.
    """
    slots = asyncio.Semaphore(max_concurrency)

    async def one(item: _Item) -> _Made | Unfinished[_Item]:
        async with slots:
            try:
                return await make(item)
            except (AskError, BudgetExhausted) as error:
                return Unfinished(item=item, reason=str(error))

    tasks = [asyncio.ensure_future(one(item)) for item in items]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def entries_of(data: Mapping[str, Any], key: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the objects of a list, each with how a reason names it.

    Raises:
        UnreadableError: there is no such list, or something else is in it.

    """
    entries = data.get(key)
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise UnreadableError(f"the answer has no list {key!r}")
    for number, entry in enumerate(entries, start=1):
        where = f"entry {number} of {key!r}"
        if not isinstance(entry, Mapping):
            raise UnreadableError(f"{where} is no object")
        yield entry, where


def text_of(entry: Mapping[str, Any], key: str, where: str = "the answer") -> str:
    """Return a text, cleaned and on one line; it may be empty.

    Raises:
        UnreadableError: there is none.

    """
    text = entry.get(key)
    if not isinstance(text, str):
        raise UnreadableError(f"{where} has no text {key!r}")
    return " ".join(clean(text).split())


def maybe_text_of(entry: Mapping[str, Any], key: str, where: str) -> str | None:
    """Return a text as `text_of` does, None for an empty one, null, or a missing key."""
    return None if entry.get(key) is None else text_of(entry, key, where) or None


def flag_of(entry: Mapping[str, Any], key: str, where: str = "the answer") -> bool:
    """Return whether something is so.

    Raises:
        UnreadableError: neither true nor false is said.

    """
    flag = entry.get(key)
    if not isinstance(flag, bool):
        raise UnreadableError(f"{where} does not say true or false for {key!r}")
    return flag


def round_of(entry: Mapping[str, Any], where: str) -> int:
    """Return a number of a round, whichever it is.

    Raises:
        UnreadableError: it is no whole number.

    """
    number = entry.get("round")
    if type(number) is not int:
        raise UnreadableError(f"{where} has no whole number 'round'")
    return number


def words(text: str, limit: int = _LONGEST_WORDS) -> str:
    """Return a verifier's words as a reason quotes them: cleaned, on one line, cut at so many characters."""
    said = " ".join(clean(text).split())
    return said if len(said) <= limit else said[: limit - 1].rstrip() + "…"


def because(sentence: str, text: str) -> str:
    """Return a reason, and behind a colon the verifier's words for it where there are any."""
    said = words(text)
    return f"{sentence}: {said}" if said else sentence


def _object(completion: Completion, prompt: Prompt) -> Mapping[str, Any]:
    if completion.ended == "refused":
        raise UnreadableError("the model refused")
    if completion.ended == "truncated":
        raise UnreadableError("the answer was cut off by the token limit")
    found = parsed_object(completion, prompt)
    if found is None:
        raise UnreadableError("the answer is no JSON object")
    return found


_ANSWER = "Answer with one JSON object of the given schema and nothing else."
TEXT: Final = {"type": "string"}
MAYBE_TEXT: Final = {"type": ["string", "null"]}
FLAG: Final = {"type": "boolean"}
ROUND: Final = {"type": "integer"}


def prompt(
    step: str,
    material: Sequence[tuple[str, str]],
    schema: Mapping[str, Any],
    *,
    template: str | None = None,
    **words: Any,
) -> Prompt:
    """Return the prompt of a step.

    Args:
        step: its name; instructions are in `templates/{step}.txt` unless `template` names another.
        material: (title, text) of what the model is given, in this order. Texts may be hostile.
        schema: JSON schema of the answer.
        template: the template's name without its ending.
        words: what the template says besides; never texts of documents or conversations.

    """
    told = _environment().get_template(f"{template or step}.txt").render(**words)
    shown = material_of(material)
    system = f"{told.strip()}\n\n{MARKS}\n{_ANSWER}"
    return Prompt(step=step, system=system, user=shown.material, schema=schema, code=shown.code)


def object_of(title: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object whose properties are all required and no others allowed."""
    return {
        "title": title,
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def list_of(title: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a list of objects."""
    return {"type": "array", "items": object_of(title, properties)}


@dataclass(frozen=True, kw_only=True)
class Material:
    """The conditions of a pair, the taxonomy they are of, and their chunks in their order."""

    conditions: Conditions
    taxonomy: Taxonomy
    chunks: tuple[Chunk, ...]

    @classmethod
    def of(cls, conditions: Conditions, documents: Mapping[str, Document], taxonomy: Taxonomy) -> Material:
        """Return the material of conditions; `documents` by their ids.

        Raises:
            CaseError: documents or taxonomy lack something of the pair.

        """
        held = chunks_of(conditions, documents)
        for what, name, known, file in (
            *(("chunk", chunk, held, "documents.jsonl") for chunk in conditions.chunks),
            ("failure type", conditions.failure_type, taxonomy.failure_types, "taxonomy.json"),
            ("behaviour", conditions.behaviour, taxonomy.behaviours, "taxonomy.json"),
        ):
            if name not in known:
                raise CaseError(f"{conditions.pair_id} needs {what} {name!r}, which {file} does not hold: restore it.")
        return cls(conditions=conditions, taxonomy=taxonomy, chunks=tuple(held[name] for name in conditions.chunks))

    @property
    def failure_type(self) -> FailureType:
        """The way the worse conversation fails."""
        return self.taxonomy.failure_types[self.conditions.failure_type]

    @property
    def behaviour(self) -> Behaviour:
        """The way the user behaves, in both conversations."""
        return self.taxonomy.behaviours[self.conditions.behaviour]

    @property
    def text(self) -> str:
        """The chunks as models read them: each under its id in brackets and its headings."""
        return "\n\n".join(chunk.prompt_text for chunk in self.chunks)

    def conditions_text(self, side: Which | None = None) -> str:
        """Return the conditions as JSON, with the texts of the taxonomy.

        Whoever writes one `side` is told what the assistant of that side does, and not what the other one does.
        """
        told: dict[str, Any] = {
            "failure_type": self.conditions.failure_type,
            "behaviour": self.conditions.behaviour,
            "n_rounds": self.conditions.n_rounds,
            "flawed_round": self.conditions.flawed_round,
            "behaviour_description": self.behaviour.description,
        }
        if side is not None:
            told["side"] = side
        if side != "better":
            told["failure_flaw"] = self.failure_type.flaw
        if side != "worse":
            told["failure_benign"] = self.failure_type.benign
        return json.dumps(told, indent=2, ensure_ascii=False)


def plans_text(blueprints: Blueprints) -> str:
    """Return both plans as JSON, as verifiers are shown them."""
    return json.dumps(blueprints.to_dict(), indent=2, ensure_ascii=False)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("judgeharness_integrations.benchmark"),
        autoescape=False,  # noqa: S701 - models read plain text; pages have an environment of their own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
