"""What is known of the model behind a question: its name, its temperature, whether it is cached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import libcst as cst

from judgeharness_integrations.migration.questions import clients_behind
from judgeharness_integrations.migration.tree import last_name

if TYPE_CHECKING:
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["model_calls", "model_name", "model_option"]

_MODEL_ARGUMENTS = ("llm", "judge", "model", "client", "eval_llm", "chat_model")
_STEPS = 60


def model_calls(view: ModuleView, call: cst.Call) -> Iterator[cst.Call]:
    """Yield the calls that configure what a call asks: itself, the client call behind a helper, its model's maker."""
    seen: set[cst.CSTNode] = set()
    waiting: list[cst.CSTNode] = [call, *clients_behind(view, call)]
    while waiting and len(seen) < _STEPS:
        node = waiting.pop(0)
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, cst.Call):
            yield node
            if isinstance(node.func, cst.Attribute):
                waiting.append(node.func.value)
            given = [view.argument(node, name) for name in _MODEL_ARGUMENTS]
            given += [view.argument(node, "", 0)] if last_name(node.func) == "from_llm" else []
            waiting.extend(one for one in given if one is not None)
        elif isinstance(node, (cst.BinaryOperation, cst.Attribute)):
            waiting.extend(view.steps(node))
            if isinstance(node, cst.Attribute):
                waiting.append(node.value)
        elif isinstance(node, cst.Name):
            waiting.extend(one for one in view.origins(node) if not isinstance(one, cst.FunctionDef))


def model_option(view: ModuleView, call: cst.Call, name: str) -> Any:
    """Return the constant given for an option of the model behind a call; `...` where none is seen."""
    for one in model_calls(view, call):
        given = view.argument(one, name)
        value = ... if given is None else view.value(given)
        if value is not ...:
            return value
    return ...


def model_name(view: ModuleView, call: cst.Call) -> str | None:
    """Return the model's name without its provider (`openai:gpt-4o` is `gpt-4o`)."""
    for option in ("model", "model_name", "deployment_name"):
        value = model_option(view, call, option)
        if isinstance(value, str):
            return value.rpartition(":")[2].rpartition("/")[2]
    return None
