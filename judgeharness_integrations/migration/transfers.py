"""How values move in a module: assignments, loops, collections, arguments, results. The steps a flow takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from judgeharness_integrations.migration.tree import children, last_name

if TYPE_CHECKING:
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["COLLECTING", "Place", "Transfer", "Uses", "place_of", "transfers_of", "uses_of"]

Place: TypeAlias = tuple[cst.CSTNode | None, str]  # the function, class or module (None) and the name in it
COLLECTING = frozenset({"append", "add", "extend", "update", "insert", "appendleft", "put", "put_nowait"})


@dataclass(frozen=True, kw_only=True)
class Uses:
    """What an expression reads: names of variables, and calls."""

    names: tuple[Place, ...]
    calls: tuple[cst.Call, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Transfer:
    """One step: what `value` reads reaches `targets`, or is a result of `function`, if the `guards` let it.

    `gathers` says that the target keeps several values: something is appended or added up.
    """

    node: cst.CSTNode
    targets: tuple[Place, ...]
    value: Uses
    guards: Uses
    result_of: cst.FunctionDef | None = None
    gathers: bool = False


def place_of(view: ModuleView, name: str, node: cst.CSTNode) -> Place:
    """Return where a variable or a `self.` attribute lives that is named at a node."""
    if name.startswith("self."):
        return view.class_of(node), name
    return view.home(node, name), name


def uses_of(view: ModuleView, *nodes: cst.CSTNode | None) -> Uses:
    """Return what expressions read, themselves included."""
    names: list[Place] = []
    calls: list[cst.Call] = []
    for start in nodes:
        for node in () if start is None else _read(view, start):
            match node:
                case cst.Call():
                    calls.append(node)
                case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=field)):
                    names.append(place_of(view, f"self.{field}", node))
                case cst.Name(value=name) if not _is_label(view, node):
                    names.append(place_of(view, name, node))
    return Uses(names=tuple(dict.fromkeys(names)), calls=tuple(calls))


def _read(view: ModuleView, start: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Nodes of an expression, those of the questions to a model left out: what it answers is something new."""
    waiting = [start]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, cst.Call) and node in view.questions:
            waiting.append(node.func)
        else:
            waiting.extend(reversed(children(node)))


def _is_label(view: ModuleView, node: cst.Name) -> bool:
    """Whether a name node is the field of an attribute or the keyword of an argument, no variable."""
    parent = view.parent(node)
    return (isinstance(parent, cst.Attribute) and parent.attr is node) or (
        isinstance(parent, cst.Arg) and parent.keyword is node
    )


def transfers_of(view: ModuleView) -> tuple[Transfer, ...]:
    """Return every step of a module."""
    return tuple(step for node in view.nodes for step in _steps(view, node))


def _steps(view: ModuleView, node: cst.CSTNode) -> Iterator[Transfer]:
    match node:
        case cst.Assign(targets=targets, value=value):
            for one in targets:
                yield _assigned(view, node, one.target, value)
        case cst.AugAssign(target=target, value=value):
            yield _assigned(view, node, target, value, gathers=True)
        case cst.AnnAssign(target=target, value=value) | cst.NamedExpr(target=target, value=value) if value is not None:
            yield _assigned(view, node, target, value)
        case cst.For(target=target, iter=iterated) | cst.CompFor(target=target, iter=iterated):
            yield _step(view, node, _bound(view, target), uses_of(view, iterated))
        case cst.WithItem(item=item, asname=cst.AsName(name=target)):
            yield _step(view, node, _bound(view, target), uses_of(view, item))
        case cst.Return(value=value) | cst.Yield(value=value) if value is not None:
            yield _step(view, node, (), uses_of(view, value), result_of=view.function_of(node))
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=method))) if method in COLLECTING:
            yield _step(view, node, _base(view, owner), uses_of(view, *(one.value for one in node.args)), gathers=True)
            yield from _handed(view, node)
        case cst.Call():
            yield from _handed(view, node)


def _assigned(
    view: ModuleView, node: cst.CSTNode, target: cst.BaseExpression, value: cst.CSTNode, *, gathers: bool = False
) -> Transfer:
    """`counts[verdict] += 1` reads its key as well as its value."""
    key = target.slice[0] if isinstance(target, cst.Subscript) else None
    return _step(
        view,
        node,
        _bound(view, target),
        uses_of(view, value, key),
        gathers=gathers or isinstance(target, cst.Subscript),
    )


def _step(
    view: ModuleView,
    node: cst.CSTNode,
    targets: tuple[Place, ...],
    value: Uses,
    *,
    result_of: cst.FunctionDef | None = None,
    gathers: bool = False,
) -> Transfer:
    guards = uses_of(view, *guards_of(view, node))
    return Transfer(node=node, targets=targets, value=value, guards=guards, result_of=result_of, gathers=gathers)


def guards_of(view: ModuleView, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the tests of the `if` and the subjects of the `match` a node depends on, within its function."""
    child = node
    for above in view.above(node):
        match above:
            case cst.FunctionDef() | cst.ClassDef():
                return
            case cst.If(test=test) if child is not test:
                yield test
            case cst.Match(subject=subject) if child is not subject:
                yield subject
        child = above


def _handed(view: ModuleView, call: cst.Call) -> Iterator[Transfer]:
    """Arguments reach the parameters of functions of this file."""
    for function in view.callees(call):
        params = [*function.params.posonly_params, *function.params.params]
        if params and params[0].name.value in {"self", "cls"} and isinstance(call.func, cst.Attribute):
            params = params[1:]
        named = {one.name.value: one for one in (*params, *function.params.kwonly_params)}
        places = iter(params)
        for arg in call.args:
            param = (
                named.get(arg.keyword.value) if arg.keyword is not None else None if arg.star else next(places, None)
            )
            if param is not None:
                target = ((function, param.name.value),)
                yield Transfer(
                    node=call, targets=target, value=uses_of(view, arg.value), guards=Uses(names=(), calls=())
                )


def _bound(view: ModuleView, target: cst.CSTNode) -> tuple[Place, ...]:
    """The variables a target binds; of `x[...]` and `x.y` it is `x`."""
    match target:
        case cst.Name(value=name):
            return (place_of(view, name, target),)
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            return tuple(place for one in elements for place in _bound(view, one.value))
        case cst.StarredElement(value=inner):
            return _bound(view, inner)
    return _base(view, target)


def _base(view: ModuleView, node: cst.CSTNode) -> tuple[Place, ...]:
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        if isinstance(node, cst.Attribute) and last_name(node.value) == "self":
            return (place_of(view, f"self.{node.attr.value}", node),)
        node = node.value
    return (place_of(view, node.value, node),) if isinstance(node, cst.Name) else ()
