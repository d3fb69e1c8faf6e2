"""What is known of the model behind a question: its name, its temperature, whether it is cached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import libcst as cst

from judgeharness_integrations.migration.questions import clients_behind
from judgeharness_integrations.migration.tree import last_name

if TYPE_CHECKING:
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["at_temperature_zero", "model_calls", "model_name", "model_option"]

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
            waiting.extend(one for one in (*given, *_configured(view, node)) if one is not None)
        elif isinstance(node, (cst.BinaryOperation, cst.Attribute)):
            waiting.extend(view.steps(node))
            if isinstance(node, cst.Attribute):
                waiting.append(node.value)
        elif isinstance(node, cst.Name):
            waiting.extend(one for one in view.origins(node) if not isinstance(one, cst.FunctionDef))


def _configured(view: ModuleView, call: cst.Call) -> Iterator[cst.CSTNode]:
    """The model in `config={"llm": ...}` and in `**config`."""
    configs = [arg.value for arg in call.args if arg.star == "**" or (arg.keyword and arg.keyword.value == "config")]
    for made in (origin for config in configs for origin in view.origins(config)):
        if isinstance(made, cst.Dict):
            pairs = (one for one in made.elements if isinstance(one, cst.DictElement))
            yield from (one.value for one in pairs if view.value(one.key) in _MODEL_ARGUMENTS)


def at_temperature_zero(view: ModuleView, call: cst.Call) -> bool:
    """Whether every temperature given for the model behind a call is a literal 0; False where none is seen."""
    given = [view.argument(one, "temperature") for one in model_calls(view, call)]
    values = [view.value(one) for one in given if one is not None]
    return bool(values) and all(isinstance(one, (int, float)) and one is not False and one == 0 for one in values)


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
