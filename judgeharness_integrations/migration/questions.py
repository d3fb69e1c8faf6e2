"""The calls of a module that word a question to a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from judgeharness_integrations.migration.clients import asks_model
from judgeharness_integrations.migration.prompting import JUDGING, prompt_text, reads_parameters

if TYPE_CHECKING:
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["all_questions", "clients_behind", "questions"]

_LAYERS = 3  # helper functions between the judge and the client
_EVALUATES = frozenset({"evaluate_strings", "aevaluate_strings", "evaluate_string_pairs", "aevaluate_string_pairs"})


def all_questions(view: ModuleView) -> frozenset[cst.Call]:
    """Return the calls behind which something new begins: an answer of a model is no longer what it was asked about."""
    clients = (call for call in view.calls if asks_model(view, call))
    evaluators = (
        call for call in view.calls if isinstance(call.func, cst.Attribute) and call.func.attr.value in _EVALUATES
    )
    return frozenset((*clients, *evaluators, *questions(view)))


def questions(view: ModuleView) -> tuple[cst.Call, ...]:
    """Return the calls that word a question to a model: those of a client, or of a helper around it."""
    found: dict[cst.Call, None] = {}
    for call in view.calls:
        if asks_model(view, call):
            for one in _worded(view, call, _LAYERS):
                found[one] = None
    return tuple(found)


def _worded(view: ModuleView, call: cst.Call, layers: int) -> Iterator[cst.Call]:
    """A call, or in its place the calls of its function if they bring the words of judging."""
    function = view.function_of(call)
    if function is None or layers == 0 or JUDGING.search(prompt_text(view, call)) or not reads_parameters(view, call):
        yield call
        return
    callers = [one for one in view.calls_of(function) if view.function_of(one) is not function]
    if not callers:
        yield call
    for one in callers:
        yield from _worded(view, one, layers - 1)


def clients_behind(view: ModuleView, call: cst.Call) -> Iterator[cst.Call]:
    """Yield the calls of a client that a helper makes, up to the helpers' depth."""
    waiting = [(call, _LAYERS)]
    while waiting:
        current, layers = waiting.pop()
        for function in view.callees(current) if layers else ():
            for node in view.own_nodes(function):
                if isinstance(node, cst.Call):
                    if asks_model(view, node):
                        yield node
                    elif view.callees(node):
                        waiting.append((node, layers - 1))
