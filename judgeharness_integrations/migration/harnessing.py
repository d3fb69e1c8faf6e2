"""Which expressions of a module a harness asks already."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from judgeharness_integrations.migration.tree import last_name, walk
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["given_judges", "harnessed_nodes", "is_wrapper", "wrappers_of"]

_WRAPPERS = frozenset({"harness_evaluator", "harness_judge", "HarnessRunEvaluator", "harness_comparative"})
_METHODS = frozenset({"evaluate", "aevaluate", "evaluate_many", "aevaluate_many", "calibrate", "acalibrate"})
_HARNESS = "JudgeHarness"


def harnessed_nodes(view: ModuleView) -> frozenset[cst.CSTNode]:
    """Return what flows into the package's wrappers and into `JudgeHarness.evaluate`, and what those functions call."""
    found: set[cst.CSTNode] = set()
    for call in view.calls:
        if _is_harness(view, call):
            for given in given_judges(view, call):
                found.update(view.origins(given))
    waiting = [node for node in found if isinstance(node, (cst.FunctionDef, cst.Lambda, cst.ClassDef))]
    while waiting:
        for inner in walk(waiting.pop()):
            if isinstance(inner, cst.Call):
                new = [one for one in (inner, *view.origins(inner.func)) if one not in found]
                found.update(new)
                waiting += [one for one in new if isinstance(one, (cst.FunctionDef, cst.ClassDef))]
    return frozenset(found)


def is_wrapper(view: ModuleView, call: cst.Call) -> bool:
    """Whether a call puts a judge under a harness, whatever the wrapper is called here."""
    ours = [full for full in view.names(call.func) if full.startswith("judgeharness_")]
    return any(full.rpartition(".")[2] in _WRAPPERS for full in ours)


def wrappers_of(view: ModuleView, made: cst.CSTNode) -> tuple[cst.Call, ...]:
    """Return the calls that put the judge an expression makes under a harness."""
    return tuple(
        call
        for call in view.calls
        if is_wrapper(view, call) and any(made in view.origins(given) for given in given_judges(view, call))
    )


def _is_harness(view: ModuleView, call: cst.Call) -> bool:
    name = last_name(call.func)
    if is_wrapper(view, call):
        return True
    if name not in _METHODS or not isinstance(call.func, cst.Attribute):
        return False
    made = (one for one in view.origins(call.func.value) if isinstance(one, cst.Call))
    return any(
        full.startswith("judgeharness_integrations.") and _HARNESS in full.split(".")
        for one in made
        for full in view.names(one.func)
    )


def given_judges(view: ModuleView, call: cst.Call) -> Iterator[cst.CSTNode]:
    """Yield the judges a wrapper is given: its first argument, or what the list in it holds."""
    for place, keyword in ((0, "judge"), (None, "evaluator"), (None, "judges")):
        given = view.argument(call, keyword, place)
        if given is not None:
            yield given
            yield from view.elements(given)
