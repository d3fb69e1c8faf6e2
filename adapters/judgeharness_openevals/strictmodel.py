"""A chat model whose structured output is read in linear time: openevals leaves the reading to the model."""

from __future__ import annotations

from typing import Any

from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableLambda

from judgeharness_integrations.modelanswer import without_parser
from judgeharness_integrations.parsing import object_of

__all__ = ["strict_model"]

_LONGEST_TEXT = 8_000  # characters; LangChain's parser takes quadratic time on a text that is no JSON


def strict_model(model: BaseChatModel) -> BaseChatModel:
    """Return a copy of the model that does not hand a long text without JSON to its own parser.

    Everything else is read as the model reads it: what is not to count is for the judge's reader to say.
    """
    copy, shaped = model.model_copy(), model.with_structured_output

    def with_structured_output(schema: Any, **options: Any) -> Any:
        if options.get("include_raw"):
            return shaped(schema, **options)
        structured: Any = shaped(schema, include_raw=True, **options)
        bound = without_parser(structured)
        if bound is None:  # a class of its own, with a reading of its own
            return shaped(schema, **options)

        def read(message: BaseMessage) -> Any:
            text = str(message.text)
            if len(text) > _LONGEST_TEXT and not getattr(message, "tool_calls", None) and object_of(text) is None:
                raise OutputParserException("the answer is not one JSON object", llm_output=text)
            found = structured.last.invoke({"raw": message})
            if found["parsing_error"] is not None:
                raise found["parsing_error"]
            return found["parsed"]

        return bound | RunnableLambda(read)

    object.__setattr__(copy, "with_structured_output", with_structured_output)  # a model takes no new attributes
    return copy
