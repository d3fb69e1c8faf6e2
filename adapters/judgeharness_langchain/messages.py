"""What a chat model's answer says besides its text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from judgeharness_integrations.judging import Answer, Judgment

__all__ = ["Capture", "ModelAnswer", "judgment_of", "read_message"]


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """One answer of a model: its text and the evidence of the call.

    `cached` is whether an LLM cache answered; `refusal` why the model refused, if it did.
    """

    text: str
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    response_id: str | None = None
    cached: bool = False
    refusal: str | None = None
    truncated: bool = False

    def facts(self, *, namespaced: bool) -> dict[str, str | float]:
        """Return what goes to the row's attributes; a hit in a namespace of our own is no copy of another sample."""
        facts: dict[str, str | float] = {}
        if self.response_id is not None:
            facts["response_id"] = self.response_id
        if self.cached:
            facts["cached"] = "namespaced" if namespaced else "shared"
        return facts


def read_message(message: BaseMessage) -> ModelAnswer:
    """Read a message at once: a later cache hit changes the usage of the message it was cached from."""
    usage: dict[str, Any] = dict(getattr(message, "usage_metadata", None) or {})
    metadata = message.response_metadata
    finish = metadata.get("finish_reason") or metadata.get("stop_reason")
    refusal = message.additional_kwargs.get("refusal")
    if refusal is None and finish in ("content_filter", "refusal"):
        refusal = f"finish reason {finish}"
    return ModelAnswer(
        text=str(message.text),
        model=metadata.get("model_name") or metadata.get("model"),
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        response_id=metadata.get("id"),
        cached=usage.get("total_cost") == 0,
        refusal=refusal,
        truncated=finish in ("length", "max_tokens"),
    )


def judgment_of(
    answers: Iterable[Answer], answer: ModelAnswer | None, warning: str | None = None, **evidence: str | float | None
) -> Judgment:
    """Return what one call gave back.

    Args:
        answers: what was read, one a criterion.
        answer: what the model said; None when that could not be seen.
        warning: why its repetitions may be one reply of a cache, where they may.
        evidence: further facts of the call (`run_id`, ...); those that are None are left out.

    """
    facts = {} if answer is None else answer.facts(namespaced=warning is None)
    facts |= {name: fact for name, fact in {"warning": warning, **evidence}.items() if fact is not None}
    if answer is None:
        return Judgment(answers=tuple(answers), facts=facts)
    return Judgment(
        answers=tuple(answers),
        raw=answer.text or answer.refusal,
        model=answer.model,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        facts=facts,
    )


class Capture(BaseCallbackHandler):
    """Keeps what the model answered inside somebody else's chain."""

    run_inline = True  # reads in the calling task, before the chain goes on

    def __init__(self) -> None:
        """Nothing captured yet."""
        self.answer: ModelAnswer | None = None

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Keep the answer."""
        generations = [generation for batch in response.generations for generation in batch]
        if not generations:
            return
        last = generations[-1]
        self.answer = read_message(last.message) if isinstance(last, ChatGeneration) else ModelAnswer(text=last.text)
