"""What the models inside a judge's call answered, besides what the judge made of it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tracers.context import register_configure_hook

__all__ = ["Capture", "ModelAnswer", "captured", "watched_client"]

_REFUSED = frozenset({"content_filter", "refusal"})


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """One answer of a model: its text and the evidence of the call; `refusal` is why it refused, if it did.

    `called` is whether it called a tool, so that its answer is the call's arguments and not its text.
    """

    text: str
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    response_id: str | None = None
    cached: bool = False
    refusal: str | None = None
    langchain: bool = False
    called: bool = False


class Capture(BaseCallbackHandler):
    """The answers of one sample's model calls, in order."""

    run_inline = True  # reads in the calling task, before the judge goes on

    def __init__(self) -> None:
        """Nothing captured yet."""
        self.answers: list[ModelAnswer] = []

    @property
    def last(self) -> ModelAnswer | None:
        """The last answer; None when no model was seen to answer."""
        return self.answers[-1] if self.answers else None

    def tokens(self, name: str) -> int | None:
        """Return the sum of `input_tokens` or `output_tokens`, None when no call reported them."""
        counts = [count for answer in self.answers if (count := getattr(answer, name)) is not None]
        return sum(counts) if counts else None

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Keep an answer of a LangChain model at once: a later cache hit changes the usage of its message."""
        generations = [generation for batch in response.generations for generation in batch]
        if generations:
            last = generations[-1]
            text = ModelAnswer(text=last.text, langchain=True)
            self.answers.append(_of_message(last.message) if isinstance(last, ChatGeneration) else text)


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


def _of_message(message: BaseMessage) -> ModelAnswer:
    usage: dict[str, Any] = dict(getattr(message, "usage_metadata", None) or {})
    metadata = message.response_metadata
    finish = metadata.get("finish_reason") or metadata.get("stop_reason")
    calls = getattr(message, "tool_calls", None)
    return ModelAnswer(
        text=str(message.text) or (json.dumps([call["args"] for call in calls]) if calls else ""),
        model=metadata.get("model_name") or metadata.get("model"),
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        response_id=metadata.get("id"),
        cached=usage.get("total_cost") == 0,
        refusal=_refusal(message.additional_kwargs.get("refusal"), finish),
        langchain=True,
        called=bool(calls),
    )


def _refusal(said: str | None, finish: str | None) -> str | None:
    return f"finish reason {finish}" if said is None and finish in _REFUSED else said


def watched_client(client: Any) -> Any:
    """Return an OpenAI client, sync or async, whose chat completions are captured, and which retries nothing.

    Its `create` raises a ConnectionError for a reply that is no chat completion.
    """
    patched = "create" in getattr(
        client.chat.completions, "__dict__", {}
    )  # by LangSmith's wrapper, say: a copy would lose that
    asked = client.with_options(max_retries=0) if hasattr(client, "with_options") and not patched else client

    def create(**arguments: Any) -> Any:
        with _garbled():
            reply = asked.chat.completions.create(**arguments)
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
    capture, choices = _CAPTURE.get(), getattr(completion, "choices", None)
    if not choices:
        raise ConnectionError("the reply is no chat completion: it has no choices")
    message, usage = choices[0].message, getattr(completion, "usage", None)
    answer = ModelAnswer(
        text=getattr(message, "content", None) or "",
        model=getattr(completion, "model", None),
        input_tokens=getattr(usage, "prompt_tokens", None),
        output_tokens=getattr(usage, "completion_tokens", None),
        response_id=getattr(completion, "id", None),
        refusal=_refusal(getattr(message, "refusal", None), getattr(choices[0], "finish_reason", None)),
    )
    if capture is not None:
        capture.answers.append(answer)
    return completion
