"""What a name is bound to, read from the node that binds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from judgeharness_integrations.migration.tree import last_name

if TYPE_CHECKING:
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["bound_values", "is_fixture"]


def bound_values(  # noqa: C901, PLR0911 - one case a kind of binding
    view: ModuleView, node: cst.CSTNode
) -> Iterator[cst.CSTNode]:
    """Yield the expressions, functions and classes a binding gives its name.

    Args:
        view: the module.
        node: the name node of an assignment, loop, `with` or parameter, or the definition itself.

    """
    if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        yield node
        return
    child: cst.CSTNode = node
    for above in (node, *view.above(node)):
        match above:
            case cst.Assign(value=value):
                yield from _of_target(child, node, value)
                return
            case cst.AnnAssign(value=value) | cst.NamedExpr(value=value):
                yield from () if value is None else (value,)
                return
            case cst.AugAssign(value=value):
                yield value
                return
            case cst.For(iter=iterated) | cst.CompFor(iter=iterated):
                yield from view.elements(iterated)
                return
            case cst.AsName():
                item = view.parent(above)
                if isinstance(item, cst.WithItem):
                    yield item.item
                return
            case cst.Param():
                yield from _of_parameter(view, above)
                return
            case cst.BaseStatement() | cst.BaseSmallStatement():
                return
        child = above


def _of_target(target: cst.CSTNode, name: cst.CSTNode, value: cst.BaseExpression) -> Iterator[cst.CSTNode]:
    """`a, b = x, y` binds place by place; `a, b = call()` binds both to the call."""
    inner = target.target if isinstance(target, cst.AssignTarget) else target
    if isinstance(inner, (cst.Tuple, cst.List)) and isinstance(value, (cst.Tuple, cst.List)):
        for mine, its in zip(inner.elements, value.elements, strict=False):
            if mine.value is name:
                yield its.value
        return
    if isinstance(inner, cst.Subscript) and inner is not name:
        return
    yield value


def _of_parameter(view: ModuleView, param: cst.Param) -> Iterator[cst.CSTNode]:
    """The default, what calls in this file give, and the fixture of that name."""
    if param.default is not None:
        yield param.default
    function = view.function_of(param)
    if function is None:
        return
    name = param.name.value
    places = [one.name.value for one in (*function.params.posonly_params, *function.params.params)]
    offset = 1 if places and places[0] in {"self", "cls"} else 0
    place = places.index(name) - offset if name in places else None
    for call in view.direct_calls(function):
        given = view.argument(call, name, place if place is None or place >= 0 else None)
        if given is not None:
            yield given
    for other in view.functions:
        if other.name.value == name and is_fixture(other):
            yield from view.results(other)


def is_fixture(function: cst.FunctionDef) -> bool:
    """Whether pytest hands a function's result to tests that name it."""
    return any(
        last_name(one.decorator.func if isinstance(one.decorator, cst.Call) else one.decorator) == "fixture"
        for one in function.decorators
    )
