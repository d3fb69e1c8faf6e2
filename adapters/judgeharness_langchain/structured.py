"""Structured output: the arguments of a tool that the model is made to call, or text where it cannot be made to."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from judgeharness_integrations.capturing import captured
from judgeharness_integrations.execution.deadline import unhurried
from judgeharness_integrations.execution.ownclients import own_model
from judgeharness_integrations.execution.retrying import status_of
from judgeharness_integrations.modelanswer import EmptyAnswerError, ModelAnswer, answer_behind, message_answer
from judgeharness_integrations.parsing import json_of
from judgeharness_langchain.models import innermost, with_innermost

__all__ = ["Mode", "Output", "answer_of", "arguments_of", "object_schema", "reasoning_of", "with_tool"]

Mode: TypeAlias = Literal["structured", "text"]
Ask: TypeAlias = Callable[[], Awaitable[ModelAnswer]]

_MOST_UNCLEAR = 3  # first answers that say nothing of what a model can do: a token limit that is too low, mostly
_UNSUPPORTED_WORDS = (
    *("response_format", "json_schema", "json_object", "tool_choice", "tools", "tool use", "tool calling"),
    "function calling",
)
_UNSUPPORTED_STATUS = frozenset({400, 404, 422, 501})  # gateways and local servers do not agree on one


def object_schema(title: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object whose properties are all required."""
    return {
        "title": title,
        "description": "The verdict of a judge.",
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def reasoning_of(parsed: Mapping[str, Any]) -> str | None:
    """Return the reasons of a structured answer."""
    value = parsed.get("reasoning")
    return value if isinstance(value, str) else None


def with_tool(model: Any, schema: Mapping[str, Any]) -> Any:
    """Return the model made to call a tool whose arguments have a schema.

    Raises:
        NotImplementedError: it takes no tools.

    """
    core: Any = innermost(model)
    if not hasattr(core, "bind_tools"):
        raise NotImplementedError
    strict = {"strict": True} if "strict" in inspect.signature(core.bind_tools).parameters else {}
    return with_innermost(model, core.bind_tools([dict(schema)], tool_choice="any", **strict))


def arguments_of(answer: ModelAnswer, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the arguments of the tool of a schema; None unless each call is one of it, with the same object."""
    if {*answer.tools} != {schema.get("title")}:
        return None
    said = {call: json_of(call) for call in answer.calls}
    only = next(iter(said.values())) if len(said) == 1 else None
    return only if isinstance(only, Mapping) else None


async def answer_of(model: Any, messages: list[BaseMessage], config: RunnableConfig | None = None) -> ModelAnswer:
    """Return what a model answers to messages; an answer its client could not read is one all the same.

    Raises:
        EmptyAnswerError: the server's reply held no answer.
        Exception: the call failed.

    """
    with captured() as capture:
        try:
            return message_answer(await own_model(model).ainvoke(messages, config))
        except Exception as error:
            if capture.empty is not None:
                raise EmptyAnswerError(capture.empty.answer) from error
            if (behind := answer_behind(error)) is not None:
                return behind
            raise


def _means_unsupported(error: Exception) -> bool:
    """Whether a model takes no tools, or a server says that it offers no structured output."""
    if isinstance(error, NotImplementedError):
        return True
    status = status_of(error) or (error.__cause__ and status_of(error.__cause__))  # Google's stands in the cause
    return status in _UNSUPPORTED_STATUS and any(word in str(error).lower() for word in _UNSUPPORTED_WORDS)


class Output:
    """How a model is asked for its answer, settled by the first one it gives: shared by all copies of a judge.

    A model that answers without calling the tool, or that a server will not make call one, is asked in text from then
    on, that first question too. Until it is settled, questions go one at a time: answers of two modes never mix in a
    case, but for one that was cut off or refused.
    """

    def __init__(self, settled: Mode | None = None) -> None:
        """Begin with a mode that is given, or with none."""
        self.settled: Mode | None = settled
        self._unbooked: list[ModelAnswer] = []  # answers without a verdict that the next one accounts for
        self._unclear = 0  # answers that were cut off or refused
        self._asking: dict[None, Future[None]] = {}

    async def ask(self, structured: Ask, text: Ask) -> tuple[ModelAnswer, Mode]:
        """Return the answer and how it was asked for."""
        while self.settled is None:
            async with self._alone() as first:
                if first and self.settled is None:
                    return await self._first(structured, text)
        mode = self.settled
        return (await (text if mode == "text" else structured)()).after(self._booked()), mode

    async def _first(self, structured: Ask, text: Ask) -> tuple[ModelAnswer, Mode]:
        try:
            answer = await structured()
        except Exception as error:
            if not _means_unsupported(error):
                raise
        else:
            self._unclear += 1
            if answer.calls or self._unclear == _MOST_UNCLEAR:
                self.settled = "structured"
            if answer.calls or answer.ending != "complete":  # which says nothing of what the model can do
                return answer, "structured"
            self._unbooked.append(answer)
        self.settled = "text"
        return (await text()).after(self._booked()), "text"

    def _booked(self) -> list[ModelAnswer]:
        unbooked, self._unbooked = self._unbooked, []
        return unbooked

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[bool, None]:
        """Wait until nobody else asks; yield whether it is one's own turn. Judges may be asked in several loops."""
        mine: Future[None] = Future()
        others = self._asking.setdefault(None, mine)
        if others is not mine:
            with unhurried():
                await asyncio.shield(asyncio.wrap_future(others))
            yield False
            return
        try:
            yield True
        finally:
            del self._asking[None]
            mine.set_result(None)
