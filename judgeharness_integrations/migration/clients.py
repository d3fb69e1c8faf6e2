"""Calls that ask a model by hand, whatever the client."""

from __future__ import annotations

import re

import libcst as cst

from judgeharness_integrations.migration.imported import is_foreign_client
from judgeharness_integrations.migration.prompting import leading_texts, opens_as_judge
from judgeharness_integrations.migration.tree import last_name
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
# functions of any name that ask, where what they are given begins as the prompt of a judge
_ASKING = re.compile(
    r"^(?!_*(?:make|build|create|get|format|render|load|set|add|with)_)(?:\w+_)?a?(?:ask|call|query|chat|complet\w*|generat\w*|llm|lm|model|gpt\w*"
    r"|claude|gemini|client|invoke|respond|answer|infer|predict|send|judge|grade|evaluate|score|request)(?:_\w+)?$"
)
_PAYLOAD = frozenset({"messages", "prompt", "contents", "inputs", "input"})  # keys of a request to a model by HTTP
_RUNS = frozenset({"run", "run_sync", "arun", "apply", "aapply", "acall", "__call__"})


def asks_model(view: ModuleView, call: cst.Call) -> bool:
    """Whether a call asks a language model: by the client's path, the function's name, or what is called."""
    if isinstance(call.func, cst.Attribute):
        path = f".{_path(call.func)}"
        if call.func.attr.value in _METHODS or any(path.endswith(f".{ending}") for ending in _ENDINGS):
            return True
        if call.func.attr.value in _RUNS:
            return _is_chain(view, call.func.value)
        if call.func.attr.value == "post" and _posts_prompt(view, call):
            return True
    if view.names(call.func) & _FUNCTIONS or is_foreign_client(view, call) or _is_given_a_role(view, call):
        return True
    return isinstance(call.func, (cst.Name, cst.Call)) and _is_chain(view, call.func)


def _posts_prompt(view: ModuleView, call: cst.Call) -> bool:
    """`requests.post(url, json={"messages": ...})`."""
    given = (view.argument(call, name) for name in ("json", "data"))
    return any(
        isinstance(pair, cst.DictElement) and view.value(pair.key) in _PAYLOAD
        for one in given
        if one is not None
        for made in (one, *view.origins(one))
        if isinstance(made, cst.Dict)
        for pair in made.elements
    )


def _is_given_a_role(view: ModuleView, call: cst.Call) -> bool:
    """`llm("You are a judge ...")`, whatever `llm` is; a function of this file asks by what stands in it."""
    if not _ASKING.match(last_name(call.func)):
        return False
    texts = (text for arg in call.args for text in leading_texts(view, arg.value))
    return any(opens_as_judge(text) for text in texts) and not view.callees(call)


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
