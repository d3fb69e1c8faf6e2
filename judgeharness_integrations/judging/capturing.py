"""What the chat models inside a judge's call answered, besides what the judge made of it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import fields, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

from judgeharness_integrations.judging.answer import (
    NO_TOKENS,
    UNREACHABLE,
    EmptyAnswerError,
    ModelAnswer,
    answer_behind,
    completion_answer,
    error_text,
    result_answer,
)
from judgeharness_integrations.judging.execution.ownclients import with_options
from judgeharness_integrations.judging.execution.retrying import is_transient
from judgeharness_integrations.judging.judge import Answer, Judgment

_MISREAD = frozenset({"OutputParserException", "ValidationError"})  # LangChain's and pydantic's
_LONGEST_REASON = 500  # characters


class Capture:
    """The answers of one sample's model calls, in order; `langchain` is whether a model of LangChain gave the last.

    One that `captured` yields is a handler of LangChain's, too, where that is installed.
    """

    run_inline = True  # reads in the calling task, before the judge goes on

    def __init__(self) -> None:
        """Nothing captured yet."""
        self.answers: list[ModelAnswer] = []
        self.empty: EmptyAnswerError | None = None
        self.langchain = False

    @property
    def last(self) -> ModelAnswer | None:
        """The last answer; None when no model was seen to answer."""
        return self.answers[-1] if self.answers else None

    def add(self, read: Callable[[Any], ModelAnswer], reply: Any) -> None:
        """Keep an answer.

        Raises:
            EmptyAnswerError: the reply holds none; that is kept.

        """
        self.empty = None
        try:
            self.answers.append(read(reply))
        except EmptyAnswerError as error:
            self.empty = error
            raise

    def on_llm_end(self, response: Any, **_: Any) -> None:
        """Keep an answer of a LangChain model at once: a later cache hit changes the usage of its message."""
        self.langchain = True
        with suppress(EmptyAnswerError):  # the model raises an error of its own
            self.add(result_answer, response)

    def told(self, judgment: Judgment) -> Judgment:
        """Return what a function made of the answers, with their evidence; what the function tells itself stands."""
        if (said := self.last) is None:
            return judgment
        warnings = [half_answer(said), UNREACHABLE if said.cached else None]
        found = said.after(self.answers[:-1]).judgment(judgment.answers, warnings=warnings)
        own = {one.name: getattr(judgment, one.name) for one in fields(judgment)}
        own["facts"] = {**found.facts, **judgment.facts}
        return replace(found, **{name: value for name, value in own.items() if value is not None})

    def unread(self, error: Exception) -> Judgment | None:
        """Return the judgment of a function that could not read an answer; None when it is the call that failed.

        Raises:
            EmptyAnswerError: the last reply held no answer.

        """
        if self.empty is not None:
            raise EmptyAnswerError(self.empty.answer.after(self.answers)) from error
        if (said := unread_answer(error, self.last)) is None:
            return None
        earlier = [one for one in self.answers if one is not said]
        return said.after(earlier).judgment([said.unusable(Answer().criterion) or misread(error)])


_CAPTURE: ContextVar[Capture | None] = ContextVar("judgeharness_capture", default=None)


@cache
def _kind() -> type[Capture]:
    """Return what captures: a handler of LangChain's where that is installed, which is imported at the first call."""
    if find_spec("langchain_core") is None:
        return Capture
    handler = import_module("langchain_core.callbacks").BaseCallbackHandler
    # LangChain asks the variable whenever it configures a run: the only way into a model that a judge keeps to itself
    import_module("langchain_core.tracers.context").register_configure_hook(_CAPTURE, inheritable=True)
    return type("Capture", (Capture, handler), {})


@contextmanager
def captured() -> Iterator[Capture]:
    """Capture what models answer inside, in this task and the threads and tasks it starts."""
    capture = _kind()()
    token = _CAPTURE.set(capture)
    try:
        yield capture
    finally:
        _CAPTURE.reset(token)


def watched_client(client: Any) -> Any:
    """Return an OpenAI client, sync or async, whose chat completions are captured, and which retries nothing.

    It asks with the settings the client has at the time. One that cannot be copied retries as it was told to. Its
    `create` raises an `EmptyAnswerError` for a reply that is no chat completion.
    """

    def create(**arguments: Any) -> Any:
        patched = "create" in getattr(client.chat.completions, "__dict__", {})  # a copy would lose what traces it, say
        asked = None if patched else with_options(client, max_retries=0)
        with _garbled():
            reply = (client if asked is None else asked).chat.completions.create(**arguments)
        return _awaited(reply) if inspect.isawaitable(reply) else _noted(reply)

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


@contextmanager
def _garbled() -> Iterator[None]:
    try:
        yield
    except json.JSONDecodeError as error:
        raise ConnectionError(f"the reply is no JSON: {error}") from error


async def _awaited(reply: Awaitable[Any]) -> Any:
    with _garbled():
        return _noted(await reply)


def _noted(completion: Any) -> Any:
    (_CAPTURE.get() or Capture()).add(completion_answer, completion)
    return completion


def half_answer(said: ModelAnswer) -> str | None:
    """Return the warning of a score that a function may have read from a half answer; None for a whole one."""
    if said.problem is None:
        return None
    return f"the score may rest on a half answer of a model inside the judge: {said.problem}"


def unread_answer(
    error: Exception, seen: ModelAnswer | None, reading: tuple[type[Exception], ...] = (), *, unseen: bool = False
) -> ModelAnswer | None:
    """Return the answer behind an error of reading it; None when it is the call that failed.

    Args:
        error: what the judge raised.
        seen: the last answer a model was seen to give; None when there was none.
        reading: further errors that a judge raises over an answer; those of a function may be of any making.
        unseen: whether the model may read its answer itself, before it is seen.

    """
    if (behind := answer_behind(error)) is not None:
        # one without tokens was seen before its client refused to read it; another is an answer of its own
        return (seen or behind) if behind.tokens == NO_TOKENS else behind
    if is_transient(error):  # the body of a reply that was garbled on its way is an error of reading, too
        return None
    parsed = not _MISREAD.isdisjoint(kind.__name__ for kind in type(error).__mro__)
    if seen is None:
        return ModelAnswer(text=error_text(error)) if unseen and parsed else None
    return seen if parsed or isinstance(error, reading) else None


def misread(error: Exception) -> Answer:
    """Return the answer of a judge that could not read what its model said."""
    return Answer(outcome="unparsed", reasoning=f"{type(error).__name__}: {error_text(error)[:_LONGEST_REASON]}")
