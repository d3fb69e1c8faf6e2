"""Where a judge of a framework is asked: the calls that cost money."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from judgeharness_integrations.migration.tree import last_name
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["Ask", "asked", "asks_of", "is_awaited"]

_METHODS = frozenset(
    {
        *("evaluate_strings", "aevaluate_strings", "evaluate_string_pairs", "aevaluate_string_pairs"),
        *("evaluate_agent_trajectory", "aevaluate_agent_trajectory", "evaluate", "aevaluate", "evaluate_run"),
        *("aevaluate_run", "invoke", "ainvoke", "batch", "abatch", "apply", "aapply", "run", "arun", "__call__"),
        *("compare_run_pair", "as_run_evaluator"),
    }
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Ask:
    """A call that asks a judge."""

    call: cst.Call
    is_async: bool


def asks_of(view: ModuleView, made: cst.CSTNode) -> tuple[Ask, ...]:
    """Return the calls that ask the judge an expression makes, through variables, attributes, containers, fixtures."""
    return tuple(
        Ask(call=call, is_async=is_awaited(view, call))
        for call in view.calls
        if call is not made and made in view.origins(asked(call))
    )


def asked(call: cst.Call) -> cst.CSTNode:
    """Return the object a call asks: what stands in front of `.evaluate_strings(`, else what is called itself."""
    if isinstance(call.func, cst.Attribute) and last_name(call.func) in _METHODS:
        return call.func.value
    return call.func


def is_awaited(view: ModuleView, call: cst.Call) -> bool:
    """Whether a call's result is awaited, at once or by `gather`, or its method's name says so."""
    name = last_name(call.func)
    if isinstance(view.parent(call), cst.Await) or (name.startswith("a") and name[1:] in _METHODS):
        return True
    return any(
        isinstance(one, cst.Call) and last_name(one.func) in {"gather", "create_task"} for one in view.above(call)
    )
