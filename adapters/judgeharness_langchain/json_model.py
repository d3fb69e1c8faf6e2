"""Any LangChain chat model as one that answers prompts with JSON: structured output first, text otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from operator import itemgetter
from typing import Any, Literal, TypeAlias, get_args

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.chatmodels import Completion, Ended, Prompt
from judgeharness_integrations.modelanswer import ModelAnswer, without_parser
from judgeharness_integrations.verdictlog.row import Ending
from judgeharness_langchain.caching import isolated
from judgeharness_langchain.models import innermost, model_name
from judgeharness_langchain.parameters import model_parameters
from judgeharness_langchain.structured import Output, answer_of, arguments_of, with_tool

__all__ = ["JsonOutput", "LangChainModel"]

JsonOutput: TypeAlias = Literal["auto", "json_schema", "function_calling", "json_mode", "text"]
_ENDED: Mapping[Ending, Ended] = {"complete": "ok", "cut_off": "truncated", "refused": "refused"}
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
        self._mode = Output(None if output == "auto" else "text" if output == "text" else "structured")

    @property
    def parameters(self) -> Mapping[str, Any]:
        """How the model is set, and how it is asked for JSON."""
        return {**model_parameters(self.model), "output": self.output}

    async def complete(self, prompt: Prompt) -> Completion:
        """Answer one prompt; twice asked where its first answer shows that it gives no structured output."""
        own = isolated(self.model, f"sample {prompt.sample}")
        model: Any = self.model if own is None else own

        async def structured() -> ModelAnswer:
            return await answer_of(self._shaped(model, prompt), _messages(prompt, shown=self.output == "json_mode"))

        async def text() -> ModelAnswer:
            return await answer_of(model, _messages(prompt, shown=True))

        answer, _ = await self._mode.ask(structured, text)
        return _completion(answer, prompt.schema)

    def _shaped(self, model: Any, prompt: Prompt) -> Any:
        """Return the model bound to the schema of the answer; our own reader is strict, and needs no other behind it.

        Raises:
            NotImplementedError: it calls no tools, and was not told to.
            UsageError: it does not have the output that was chosen.

        """
        if self.output == "auto":
            return with_tool(model, prompt.schema)
        try:
            structured = model.with_structured_output(dict(prompt.schema), include_raw=True, method=self.output)
        except (NotImplementedError, AttributeError):
            raise UsageError(f"model {self.name!r} has no output {self.output!r}: use output: text.") from None
        return without_parser(structured) or structured | itemgetter("raw")


def _messages(prompt: Prompt, *, shown: bool) -> list[BaseMessage]:
    """Return the messages; the schema is `shown` where it is not sent beside them."""
    schema = f"\n\n{_SHOWN}{json.dumps(prompt.schema, ensure_ascii=False)}" if shown else ""
    return [SystemMessage(prompt.system + schema), HumanMessage(prompt.user)]


def _completion(answer: ModelAnswer, schema: Mapping[str, Any]) -> Completion:
    parsed = arguments_of(answer, schema)
    text = answer.text or (json.dumps(parsed, ensure_ascii=False) if parsed is not None else "")  # of a tool's call
    return Completion(
        text=answer.problem or text if answer.ending == "refused" else text,
        parsed=parsed,
        ended=_ENDED[answer.ending],
        model=answer.model,
        cached=answer.cached,
        service_tier=answer.service_tier,
        **answer.usage,
    )
