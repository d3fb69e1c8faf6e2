"""Decorators that run a function again because of what it returned: tenacity's and backoff's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from judgeharness_integrations.migration.tree import last_name, walk

if TYPE_CHECKING:
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["retried_on_results"]

_ON_RESULTS = frozenset({"retry_if_result", "retry_if_not_result", "on_predicate", "retry_on_result"})


def retried_on_results(view: ModuleView, function: cst.FunctionDef) -> Iterator[cst.Decorator]:
    """Yield the decorators of a function that compare its result with a text or a number, None and emptiness left out.

    A test for None asks whether there is an answer at all, which is another question.
    """
    for decorator in function.decorators:
        calls = (one for one in walk(decorator) if isinstance(one, cst.Call) and last_name(one.func) in _ON_RESULTS)
        if any(_compares(view, given) for call in calls for arg in call.args for given in view.origins(arg.value)):
            yield decorator


def _compares(view: ModuleView, tested: cst.CSTNode) -> bool:
    if not isinstance(tested, (cst.Lambda, cst.FunctionDef)):
        return False
    for node in walk(tested):
        match node:
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(comparator=right)]):
                values = (view.value(left), view.value(right))
                if any(isinstance(one, (str, int, float)) and one != "" for one in values):
                    return True
    return False
