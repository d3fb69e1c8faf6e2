"""What the models inside a judge's call answered, besides what the judge made of it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import LLMResult
from langchain_core.tracers.context import register_configure_hook

from judgeharness_integrations.execution.ownclients import with_options
from judgeharness_integrations.modelanswer import EmptyAnswerError, ModelAnswer, completion_answer, result_answer

__all__ = ["Capture", "captured", "watched_client"]


class Capture(BaseCallbackHandler):
    """The answers of one sample's model calls, in order; `langchain` is whether a model of LangChain gave the last."""

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

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Keep an answer of a LangChain model at once: a later cache hit changes the usage of its message."""
        self.langchain = True
        with suppress(EmptyAnswerError):  # the model raises an error of its own
            self.add(result_answer, response)


# LangChain asks the variable whenever it configures a run: the only way into a model that a judge keeps to itself.
_CAPTURE: ContextVar[Capture | None] = ContextVar("judgeharness_openevals_capture", default=None)
register_configure_hook(_CAPTURE, inheritable=True)


@contextmanager
def captured() -> Iterator[Capture]:
    """Capture what models answer inside, in this task and the threads and tasks it starts."""
    capture = Capture()
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
