"""LangSmith: the removed `LangChainStringEvaluator`. Function evaluators are judges written by hand."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from judgeharness_integrations.migration.recognising.kinds import Kind
from judgeharness_integrations.migration.recognising.langchain import SHAPES, evaluator_kind
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["is_evaluator", "langsmith_kinds"]


def langsmith_kinds(view: ModuleView, call: cst.Call, names: frozenset[str]) -> Iterator[Kind]:
    """Yield what a call makes."""
    if not any(name.startswith("langsmith.") and name.endswith(".LangChainStringEvaluator") for name in names):
        return
    evaluator = evaluator_kind(view, view.argument(call, "evaluator", 0))
    yield Kind(
        framework="langsmith",
        kind="LangChainStringEvaluator",
        shape=SHAPES.get(evaluator or "", "any"),
        deterministic=evaluator is not None and evaluator not in SHAPES,
        evidence=f"LangChainStringEvaluator runs {evaluator or 'an evaluator of LangChain'}",
    )


def is_evaluator(view: ModuleView, function: cst.FunctionDef) -> bool:
    """Whether a function is given to LangSmith's `evaluate` or decorated as its evaluator."""
    if any("langsmith" in name and "evaluator" in name for name in _decorators(view, function)):
        return True
    for call in view.calls:
        given = view.argument(call, "evaluators")
        if given is not None and any(found is function for one in view.elements(given) for found in view.origins(one)):
            return True
    return False


def _decorators(view: ModuleView, function: cst.FunctionDef) -> Iterator[str]:
    for one in function.decorators:
        made = one.decorator.func if isinstance(one.decorator, cst.Call) else one.decorator
        yield from view.names(made)
