"""Where a judge's answers go in a module: a fixpoint over how values move; and which expressions are its decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import libcst as cst

from .questions import all_questions
from .repetition import loops_around
from .syntax import children, last_name
from .view import COLLECTING, ModuleView, once_a_view

_APPLY = frozenset({"apply", "map", "imap", "starmap", "submit", "run_in_executor", "to_thread", "progress_apply"})
_EACH = _APPLY - {"submit", "run_in_executor", "to_thread"}
_MANY = frozenset({"batch", "abatch"})


class Flow:
    """What values of some calls reach.

    `calls` are those calls and every call of a function of this file that hands them on; `functions` those functions;
    `names` the variables; `collected` the variables that hold several of them.

    Args:
        view: the module.
        seeds: the calls.
        decisions: whether what is decided by an answer (`if text == "yes": wins += 1`) is reached by it.
        several: whether one call brings several answers (`n=5`).

    """

    def __init__(
        self, view: ModuleView, seeds: Iterable[cst.Call], *, decisions: bool = True, several: bool = False
    ) -> None:
        """Follow the values until nothing new is reached."""
        self.view = view
        self.seeds = frozenset(seeds)
        self.calls: set[cst.Call] = set(self.seeds)
        self.names: set[Place] = set()
        self.functions: set[cst.FunctionDef] = set()
        self.collected: set[Place] = set()
        self.several = several
        self._decisions = decisions
        self._spread(_transfers_of(view), self._reach)
        self._spread(_transfers_of(view), self._collect)

    def touches(self, node: cst.CSTNode | None) -> bool:
        """Whether an expression reads one of the values."""
        return node is not None and self._reads(uses_of(self.view, node))

    def gathers(self, node: cst.CSTNode) -> bool:
        """Whether an expression holds several of the values: a comprehension over calls, or what was collected."""
        uses = uses_of(self.view, node)
        return any(name in self.collected for name in uses.names) or any(self._brings_many(call) for call in uses.calls)

    def _spread(self, transfers: tuple[Transfer, ...], step: Callable[[Transfer], bool]) -> None:
        waiting = True
        while waiting:
            waiting = False
            for one in transfers:
                waiting = step(one) or waiting

    def _reads(self, uses: Uses) -> bool:
        return any(name in self.names for name in uses.names) or any(call in self.calls for call in uses.calls)

    def _reach(self, step: Transfer) -> bool:
        if not (self._reads(step.value) or (self._decisions and self._reads(step.guards))):
            return False
        known = len(self.names) + len(self.functions)
        self.names.update(step.targets)
        if step.result_of is not None and step.result_of not in self.functions:
            self.functions.add(step.result_of)
            self.calls.update(self.view.calls_of(step.result_of))
            self.calls.update(call for call in self.view.calls if self._applies(call, step.result_of))
        return len(self.names) + len(self.functions) > known

    def _applies(self, call: cst.Call, function: cst.FunctionDef) -> bool:
        """`frame.apply(judge, axis=1)`, `pool.map(judge, rows)`."""
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        name = call.func.value if isinstance(call.func, cst.Name) else name
        return name in _APPLY and any(function in self.view.origins(arg.value) for arg in call.args)

    def _brings_many(self, call: cst.Call) -> bool:
        """A call of the flow inside a comprehension, one that is applied to each row, or one that samples several."""
        if call not in self.calls:
            return False
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        name = call.func.value if isinstance(call.func, cst.Name) else name
        if name in _EACH or (call in self.seeds and (self.several or name in _MANY or self._grades_lists(call, name))):
            return True
        return any(isinstance(loop, cst.CompFor) for loop in loops_around(self.view, call))

    def _grades_lists(self, call: cst.Call, name: str) -> bool:
        """`QAEvalChain.evaluate(examples, predictions)` grades lists; no other evaluator has a method of that name."""
        return name == "evaluate" and len(call.args) > 1 and isinstance(call.func, cst.Attribute)

    def _collect(self, step: Transfer) -> bool:
        if not step.targets or not any(name in self.names for name in step.targets):
            return False
        many = any(name in self.collected for name in step.value.names) or any(
            self._brings_many(call) for call in step.value.calls
        )
        many = many or (step.gathers and any(True for _ in loops_around(self.view, step.node)))
        if isinstance(step.node, (cst.For, cst.CompFor)) and not _nested(step.node):
            many = False  # one of many is one
        known = len(self.collected)
        if many:
            self.collected.update(step.targets)
        return len(self.collected) > known


def _nested(loop: cst.For | cst.CompFor) -> bool:
    """`for name, total in totals.items()` hands on what was added up."""
    inner = loop.iter
    return (
        isinstance(inner, cst.Call)
        and isinstance(inner.func, cst.Attribute)
        and inner.func.attr.value in {"items", "values"}
    )


Place: TypeAlias = tuple[cst.CSTNode | None, str]  # the function, class or module (None) and the name in it


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
                case cst.Name(value=name) if not view.is_label(node):
                    names.append(place_of(view, name, node))
    return Uses(names=tuple(dict.fromkeys(names)), calls=tuple(calls))


def _read(view: ModuleView, start: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Nodes of an expression, those of the questions to a model left out: what it answers is something new."""
    waiting = [start]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, cst.Call) and node in all_questions(view):
            waiting.append(node.func)
        else:
            waiting.extend(reversed(children(node)))


@once_a_view
def _transfers_of(view: ModuleView) -> tuple[Transfer, ...]:
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
            yield _step(view, node, _base(view, owner), uses_of(view, *(arg.value for arg in node.args)), gathers=True)
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
            return tuple(place for element in elements for place in _bound(view, element.value))
        case cst.StarredElement(value=inner):
            return _bound(view, inner)
    return _base(view, target)


def _base(view: ModuleView, node: cst.CSTNode) -> tuple[Place, ...]:
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        if isinstance(node, cst.Attribute) and last_name(node.value) == "self":
            return (place_of(view, f"self.{node.attr.value}", node),)
        node = node.value
    return (place_of(view, node.value, node),) if isinstance(node, cst.Name) else ()


_DECISIONS = frozenset({"value", "score"})
_MEASUREMENTS = frozenset({"harness", "metadata"})
_WAITING = frozenset({"run", "run_until_complete", "wait_for", "result", "run_sync"})
_DEPTH = 8


class Judged:
    """Reads expressions of one judge's flow."""

    def __init__(self, view: ModuleView, flow: Flow) -> None:
        """Keep what is looked at."""
        self.view = view
        self._flow = flow

    def decision(self, node: cst.CSTNode, depth: int = 0) -> str | None:
        """Return whose decision an expression is, as the code names the result it is read from; None for others."""
        if depth > _DEPTH:
            return None
        return self._read(node, _DECISIONS) or self._measured(node, "verdict") or self._handed_on(node, depth)

    def _handed_on(self, node: cst.CSTNode, depth: int) -> str | None:
        match node:
            case cst.Name():
                sources = [*self.view.steps(node), *self.added(node)]
                return next((found for one in sources if (found := self.decision(one, depth + 1))), None)
            case cst.Await(expression=inner) | cst.NamedExpr(value=inner):
                return self.decision(inner, depth + 1)
            case cst.Call(func=func, args=[first, *_]) if last_name(func) in _WAITING:
                return self.decision(first.value, depth + 1)
            case cst.Call():
                results = (one for function in self.view.callees(node) for one in self.view.results(function))
                return self._code(node) if any(self.decision(one, depth + 1) for one in results) else None
        return None

    def status(self, node: cst.CSTNode) -> str | None:
        """Return of whose result an expression is the status; None for others."""
        if isinstance(node, cst.Name):
            return next((found for step in self.view.steps(node) if (found := self.status(step))), None)
        return self._measured(node, "status")

    def added(self, node: cst.Name) -> Iterator[cst.CSTNode]:
        """What is appended to the list a variable runs over: `for one in found`."""
        scope = self.view.scope(node)
        for one in () if scope is None else scope[node.value]:
            binding = getattr(one, "node", None)
            around = () if binding is None else self.view.above(binding)
            loop = next((one for one in around if isinstance(one, (cst.For, cst.CompFor, cst.BaseStatement))), None)
            if isinstance(loop, (cst.For, cst.CompFor)) and isinstance(loop.iter, cst.Name):
                yield from self.appended(loop.iter)

    def appended(self, node: cst.Name) -> Iterator[cst.CSTNode]:
        """What is appended to a variable."""
        for call in self.view.additions.get(node.value, ()):
            if last_name(call.func) == "append" and call.args:
                yield call.args[0].value

    def counted(self, node: cst.Name) -> list[cst.AugAssign]:
        """Where a variable of the same function is counted up."""
        home = self.view.function_of(node)
        return [
            one
            for one in self.view.nodes
            if isinstance(one, cst.AugAssign)
            and last_name(one.target) == node.value
            and isinstance(one.target, cst.Name)
            and self.view.function_of(one) is home
        ]

    def _measured(self, node: cst.CSTNode, key: str) -> str | None:
        owner = self._owner(node, frozenset({key}))
        return None if owner is None else self._read(owner, _MEASUREMENTS)

    def _read(self, node: cst.CSTNode, keys: frozenset[str]) -> str | None:
        owner = self._owner(node, keys)
        return self._code(owner) if owner is not None and self._is_result(owner) else None

    def _owner(self, node: cst.CSTNode, keys: frozenset[str]) -> cst.BaseExpression | None:
        """What a key is read from: `owner["value"]`, `owner.get("value")`."""
        match node:
            case cst.Subscript(value=owner, slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
                return owner if self.view.value(key) in keys else None
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="get")), args=[key, *_]):
                return owner if self.view.value(key.value) in keys else None
        return None

    def _is_result(self, node: cst.CSTNode, depth: int = 0) -> bool:
        """Whether an expression is what the judge returned, or one of several such."""
        match node:
            case cst.Await(expression=inner) | cst.NamedExpr(value=inner) | cst.Subscript(value=inner):
                return self._owner(node, _DECISIONS) is None and self._is_result(inner, depth)
            case cst.Call(func=func, args=[first, *_]) if last_name(func) in _WAITING and node not in self._flow.calls:
                return self._is_result(first.value, depth)
            case cst.Call():
                return node in self._flow.calls
            case cst.Name() | cst.Attribute() if self._flow.touches(node):
                return True
            case cst.Name() if depth < _DEPTH:  # a fixture's
                return any(self._is_result(step, depth + 1) for step in self.view.steps(node))
        return False

    def _code(self, node: cst.CSTNode) -> str:
        return self.view.module.code_for_node(node)
