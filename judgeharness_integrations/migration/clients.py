"""Calls that ask a model by hand, whatever the client."""

from __future__ import annotations

import re

import libcst as cst

from judgeharness_integrations.migration.view import ModuleView, dotted

__all__ = ["asks_model"]

_METHODS = frozenset(
    {
        *("invoke", "ainvoke", "predict", "apredict", "predict_messages", "apredict_messages"),
        *("generate", "agenerate", "complete", "acomplete", "batch", "abatch"),
        *("generate_content", "generate_content_async", "chat_completion", "converse", "send_message"),
    }
)
# the last parts of calls whose last name alone says nothing
_ENDINGS = (
    *("chat.completions.create", "responses.create", "messages.create", "completions.parse", "responses.parse"),
    *("completions.create", "ChatCompletion.create", "ChatCompletion.acreate", "chat.complete", "chat.complete_async"),
    *("messages.parse", "chat.parse"),
)
_FUNCTIONS = frozenset(
    {
        *("litellm.completion", "litellm.acompletion", "litellm.responses", "litellm.aresponses"),
        *("ollama.chat", "ollama.generate", "litellm.main.completion", "aisuite.completion"),
    }
)
# objects that ask when they are called themselves, or run
_CHAINS = re.compile(
    r"^(?:langchain\w*|langgraph)\..*\b(?:Chat\w+|OpenAI|Ollama\w*|LLMChain)$|^pydantic_ai\.(?:\w+\.)*Agent$|^dspy\.(?:\w+\.)*(?:Predict|ChainOfThought)$"
)
_RUNS = frozenset({"run", "run_sync", "arun", "apply", "aapply", "acall", "__call__"})


def asks_model(view: ModuleView, call: cst.Call) -> bool:
    """Whether a call asks a language model: by the client's path, the function's name, or what is called."""
    if isinstance(call.func, cst.Attribute):
        path = f".{_path(call.func)}"
        if call.func.attr.value in _METHODS or any(path.endswith(f".{ending}") for ending in _ENDINGS):
            return True
        if call.func.attr.value in _RUNS:
            return _is_chain(view, call.func.value)
    if view.names(call.func) & _FUNCTIONS:
        return True
    return isinstance(call.func, (cst.Name, cst.Call)) and _is_chain(view, call.func)


def _is_chain(view: ModuleView, node: cst.BaseExpression) -> bool:
    """Whether an expression is an object that asks a model when it is run."""
    return any(
        _CHAINS.match(name)
        for made in view.origins(node)
        if isinstance(made, cst.Call)
        for name in view.names(made.func)
    )


def _path(node: cst.BaseExpression) -> str:
    """Return `chat.completions.create` of `self.client().chat.completions.create`."""
    if isinstance(node, cst.Attribute):
        return f"{_path(node.value)}.{node.attr.value}"
    return dotted(node)
