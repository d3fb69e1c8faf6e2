"""Any LangChain chat model as one that answers prompts with JSON: structured output first, text otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.chatmodels import Completion, Prompt
from judgeharness_langchain.caching import isolated
from judgeharness_langchain.messages import ModelAnswer, read_message
from judgeharness_langchain.models import innermost, model_name
from judgeharness_langchain.parameters import model_parameters
from judgeharness_langchain.structured import ended_early, means_unsupported

__all__ = ["JsonOutput", "LangChainModel"]

JsonOutput: TypeAlias = Literal["auto", "json_schema", "function_calling", "json_mode", "text"]
_SHOWN = "The JSON schema of the answer:\n"


class LangChainModel:
    """A chat model of LangChain as a `ChatModel`.

    `output` is how it is asked for JSON: `auto` is its own way of structured output, and text from then on where it
    turns out to have none; `json_schema`, `function_calling` and `json_mode` are LangChain's methods by name; `text`
    shows the schema in the prompt alone.
    """

    def __init__(self, model: BaseChatModel | Runnable[Any, Any], *, output: JsonOutput = "auto") -> None:
        """Prepare; nothing is asked yet.

        Raises:
            UsageError: it is no chat model, or `output` is not known.

        """
        if not isinstance(innermost(model), BaseChatModel):
            raise UsageError(f"a chat model is needed, not {type(model).__name__}.")
        if output not in get_args(JsonOutput):
            raise UnknownNameError("output", str(output), get_args(JsonOutput))
        self.model = model
        self.output: JsonOutput = output
        self.name = model_name(model) or type(innermost(model)).__name__
        self._text_only = output == "text"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """How the model is set, and how it is asked for JSON."""
        return {**model_parameters(self.model), "output": self.output}

    async def complete(self, prompt: Prompt) -> Completion:
        """Answer one prompt; twice asked where the model turns out to have no structured output."""
        own = isolated(self.model, f"sample {prompt.sample}")
        model: Any = self.model if own is None else own
        if not self._text_only:
            answered = await self._structured(model, prompt)
            if answered is not None:
                return answered
        return _completion(read_message(await model.ainvoke(_messages(prompt, shown=True))))

    async def _structured(self, model: Any, prompt: Prompt) -> Completion | None:
        """Return the answer, or None when the model turns out to have no structured output."""
        shaped = self._shaped(model, prompt)
        if shaped is None:
            return None
        try:
            result = await shaped.ainvoke(_messages(prompt, shown=self.output == "json_mode"))
        except Exception as error:
            if self.output == "auto" and means_unsupported(error):
                self._text_only = True
                return None
            if (ended := ended_early(error)) is not None:
                return _completion(ended, tokens=_tokens(error))
            raise
        raw, parsed = result["raw"], result["parsed"]
        answer = read_message(raw) if isinstance(raw, AIMessage) else ModelAnswer(text=str(raw))
        # a text is read strictly later on: the client's own parser also completes JSON that was cut off
        given = isinstance(parsed, Mapping) and (not answer.text or getattr(raw, "tool_calls", None))
        return _completion(answer, parsed if given else None)

    def _shaped(self, model: Any, prompt: Prompt) -> Any | None:
        method = {} if self.output == "auto" else {"method": self.output}
        try:
            return model.with_structured_output(dict(prompt.schema), include_raw=True, **method)
        except (NotImplementedError, AttributeError):
            if self.output != "auto":
                raise UsageError(f"model {self.name!r} has no output {self.output!r}: use output: text.") from None
            self._text_only = True
            return None


def _messages(prompt: Prompt, *, shown: bool) -> list[BaseMessage]:
    """Return the messages; the schema is `shown` where it is not sent beside them."""
    schema = f"\n\n{_SHOWN}{json.dumps(prompt.schema, ensure_ascii=False)}" if shown else ""
    return [SystemMessage(prompt.system + schema), HumanMessage(prompt.user)]


def _completion(
    answer: ModelAnswer,
    parsed: Mapping[str, Any] | None = None,
    *,
    tokens: tuple[int | None, int | None] = (None, None),
) -> Completion:
    ended: Literal["ok", "refused", "truncated"] = "truncated" if answer.truncated else "ok"
    text = answer.text or (json.dumps(parsed, ensure_ascii=False) if parsed is not None else "")  # of a tool's call
    return Completion(
        text=text if answer.refusal is None else answer.refusal,
        parsed=parsed,
        ended=ended if answer.refusal is None else "refused",
        model=answer.model,
        input_tokens=tokens[0] if answer.input_tokens is None else answer.input_tokens,
        output_tokens=tokens[1] if answer.output_tokens is None else answer.output_tokens,
        cached=answer.cached,
    )


def _tokens(error: Exception) -> tuple[int | None, int | None]:
    """Return what an answer that was cut off took, which only the error holds."""
    usage = getattr(getattr(error, "completion", None), "usage", None)
    return getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
