"""What a module's tree says: names behind aliases, what an expression may come from, constants."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, TypeVar

import libcst as cst
from libcst.metadata import Assignment, MetadataWrapper, QualifiedNameSource

from .syntax import ModuleIndex, OtherFiles, children, last_name

_Found = TypeVar("_Found")
_DEPTH = 8  # steps an expression is followed back
_HANDED_ON = frozenset({"bind", "with_retry", "with_config", "with_structured_output", "bind_tools", "with_fallbacks"})
COLLECTING = frozenset({"append", "add", "extend", "update", "insert", "appendleft", "put", "put_nowait"})


class ModuleView(ModuleIndex):
    """One parsed module and what its names stand for; every method takes nodes of its tree."""

    def __init__(self, wrapper: MetadataWrapper, path: Path = Path(), tree: OtherFiles | None = None) -> None:
        """Index the tree; everything else is found out when it is asked for.

        Args:
            wrapper: the parsed module.
            path: its file.
            tree: the files in which its imports are followed.

        """
        super().__init__(wrapper)
        self.path, self.tree = path, tree
        self.prompt_texts: dict[cst.Call, str] = {}
        self._known_names: dict[cst.CSTNode, frozenset[str]] = {}
        self._naming: list[cst.CSTNode] = []
        self._known_steps: dict[cst.CSTNode, tuple[cst.CSTNode, ...]] = {}
        self._opened: set[cst.CSTNode] = set()
        self._callees: dict[cst.Call, tuple[cst.FunctionDef, ...]] = {}
        self._origins: dict[cst.CSTNode, tuple[cst.CSTNode, ...]] = {}
        self.kept: dict[Callable[..., Any], Any] = {}  # what functions marked `once_a_view` found

    def names(self, node: cst.CSTNode) -> frozenset[str]:
        """Full names of what was imported and is called so here (`langchain.evaluation.load_evaluator`).

        Aliases inside the file are followed; a name that star imports may bring is looked for in each of them. A
        local function or class has no such name.
        """
        if node not in self._known_names:
            self._known_names[node] = frozenset()  # a circle ends here
            if len(self._naming) < _DEPTH:
                self._naming.append(node)
                self._known_names[node] = frozenset(self._names(node))
                self._naming.pop()
            else:
                del self._known_names[node]
                return frozenset()
        return self._known_names[node]

    def _names(self, node: cst.CSTNode) -> Iterator[str]:
        scope = self.scope(node)
        if scope is None or isinstance(node, cst.Call):  # what a call returns is not what it calls
            return
        found = scope.get_qualified_names_for(node)
        full = [name.name for name in found if name.source is QualifiedNameSource.IMPORT]
        yield from full
        if full:
            return
        match node:
            case cst.Attribute(value=owner, attr=cst.Name(value=attribute)):
                yield from (f"{name}.{attribute}" for name in self.names(owner))
            case cst.Name(value=name) if not any(isinstance(one, Assignment) for one in scope[name]):
                yield from (f"{module}.{name}" for module in self.star_modules)
            case cst.Name():
                yield from self._names_of(step for step in self.steps(node) if step is not node)
            case cst.Subscript(value=container):
                yield from self._names_of(self.elements(container))

    def _names_of(self, nodes: Iterable[cst.CSTNode]) -> Iterator[str]:
        for one in nodes:
            if isinstance(one, (cst.Name, cst.Attribute, cst.Subscript)):
                yield from self.names(one)

    def origins(self, node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        """Expressions a value may come from: calls, constants, functions, the node itself, in order of finding."""
        if node not in self._origins:
            self._origins[node] = (node,)  # a circle ends here
            found = {node: None}
            layer = [node]
            for _ in range(_DEPTH):
                layer = [step for one in layer for step in self.steps(one) if step not in found]
                found.update(dict.fromkeys(layer))
            self._origins[node] = tuple(found)
        return self._origins[node]

    def steps(self, node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        """Expressions a value may come from, one step back."""
        if node in self._known_steps:
            return self._known_steps[node]
        found = tuple(self._steps(node))
        if not self._opened:  # inside a circle it is not the whole answer
            self._known_steps[node] = found
        return found

    def _steps(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        match node:
            case cst.Name():
                yield from self._bindings(node)
            case cst.Attribute(value=cst.Name(value="self" | "cls"), attr=cst.Name(value=name)):
                yield from self.attribute_values(node, name)
            case cst.Await(expression=inner):
                yield inner
            case cst.IfExp(body=body, orelse=orelse):
                yield from (body, orelse)
            case cst.BooleanOperation(left=left, right=right) | cst.BinaryOperation(left=left, right=right):
                yield from (left, right)
            case cst.Subscript(value=container, slice=[cst.SubscriptElement(slice=cst.Index(value=key)), *_]):
                yield from self.elements(container, self.value(key))
            case cst.Call(func=func):
                yield from self._returned(func)
                yield from self._carried(node)
            case cst.NamedExpr(value=value):
                yield value

    def _carried(self, call: cst.Call) -> Iterator[cst.CSTNode]:
        """What a call hands on: `llm.bind(...)`, `llm.with_retry()`, `partial(judge, ...)`, `container.get(key)`."""
        match call.func:
            case cst.Attribute(value=owner, attr=cst.Name(value=method)) if method in _HANDED_ON:
                yield owner
            case cst.Attribute(value=container, attr=cst.Name(value="get" | "pop" | "setdefault")) if call.args:
                yield from self.elements(container, self.value(call.args[0].value))
            case cst.Name(value="partial") | cst.Attribute(attr=cst.Name(value="partial")) if call.args:
                yield call.args[0].value

    def _bindings(self, node: cst.Name) -> Iterator[cst.CSTNode]:
        scope = self.scope(node)
        if scope is None:
            return
        for one in scope[node.value]:
            if isinstance(one, Assignment):
                yield from _bound_values(self, one.node)

    def local_functions(self, func: cst.CSTNode) -> tuple[cst.FunctionDef, ...]:
        """Functions and methods of this file an expression in front of `(` may be."""
        if isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name) and func.value.value in {"self", "cls"}:
            found = list(self.attribute_values(func, func.attr.value))
        elif isinstance(func, cst.Attribute):
            found = [
                method
                for made in self.origins(func.value)
                if isinstance(made, cst.Call)
                for owner in self.origins(made.func)
                if isinstance(owner, cst.ClassDef)
                for method in self.methods(owner)
                if method.name.value == func.attr.value
            ]
        else:
            found = list(self.origins(func))
        return tuple(one for one in found if isinstance(one, cst.FunctionDef) and not is_fixture(one))

    def _returned(self, func: cst.BaseExpression) -> Iterator[cst.CSTNode]:
        if isinstance(func, cst.Name):
            for local in self._bindings(func):
                if isinstance(local, cst.FunctionDef):
                    yield from self.results(local)
        elif (
            isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name) and func.value.value in {"self", "cls"}
        ):
            for local in self.attribute_values(func, func.attr.value):
                if isinstance(local, cst.FunctionDef):
                    yield from self.results(local)

    def elements(self, container: cst.CSTNode, key: Any = None) -> tuple[cst.CSTNode, ...]:
        """What a container holds: all of it, or under one key of a literal dict, or at one place of a literal list."""
        if container in self._opened:  # a circle
            return ()
        self._opened.add(container)
        try:
            return tuple(self._elements(container, key))
        finally:
            self._opened.discard(container)

    def _elements(self, container: cst.CSTNode, key: Any) -> Iterator[cst.CSTNode]:
        for found in self.origins(container):
            match found:
                case cst.Call(func=func) if any(name.endswith(".load_evaluators") for name in self.names(func)):
                    yield found  # a list of evaluators, each of them made here
                case cst.List(elements=inner) | cst.Tuple(elements=inner) | cst.Set(elements=inner):
                    chosen = inner[key : key + 1] if isinstance(key, int) and 0 <= key < len(inner) else inner
                    yield from (one.value for one in chosen)
                case cst.Dict(elements=pairs):
                    yield from _dict_values(self, pairs, key)
                case cst.ListComp(elt=elt) | cst.SetComp(elt=elt) | cst.GeneratorExp(elt=elt):
                    yield elt
                case cst.DictComp(value=value):
                    yield value
                case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="values" | "items"))):
                    yield from self.elements(owner)
                case cst.Call(func=cst.Name(value="list" | "tuple" | "enumerate" | "zip" | "sorted"), args=args):
                    for arg in args:
                        yield from self.elements(arg.value)

    def value(self, node: cst.CSTNode | None) -> Any:
        """A constant: a string, number, bool or None that stands there or in the variable; else `...`."""
        return _constant(self, node)

    def calls_of(self, function: cst.FunctionDef) -> tuple[cst.Call, ...]:
        """Calls of a function of this file, methods of its own class and of objects made of it."""
        name = function.name.value
        return tuple(
            call for call in self.calls if last_name(call.func) == name and function in self.local_functions(call.func)
        )

    def callees(self, call: cst.Call) -> tuple[cst.FunctionDef, ...]:
        """Functions of this file a call may run; a class of this file runs its `__init__`."""
        if call not in self._callees:
            found = self.local_functions(call.func)
            made = (
                [origin for origin in self.origins(call.func) if isinstance(origin, cst.ClassDef)] if not found else []
            )
            inits = (method for owner in made for method in self.methods(owner) if method.name.value == "__init__")
            self._callees[call] = found or tuple(inits)
        return self._callees[call]

    @cached_property
    def additions(self) -> dict[str, list[cst.Call]]:
        """Name of a variable -> calls that add to it: `messages.append(...)`."""
        found: dict[str, list[cst.Call]] = {}
        for call in self.calls:
            match call.func:
                case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=method)) if method in COLLECTING:
                    found.setdefault(name, []).append(call)
        return found


def once_a_view(find: Callable[[ModuleView], _Found]) -> Callable[[ModuleView], _Found]:
    """Let a function look at each view once: what it finds is kept as long as the view."""

    @wraps(find)
    def kept(view: ModuleView) -> _Found:
        if find not in view.kept:
            view.kept[find] = find(view)
        found: _Found = view.kept[find]
        return found

    return kept


def _dict_values(view: ModuleView, pairs: Any, key: Any) -> Iterator[cst.CSTNode]:
    chosen = [pair for pair in pairs if isinstance(pair, cst.DictElement) and view.value(pair.key) == key]
    yield from (one.value for one in (chosen or pairs) if isinstance(one, (cst.DictElement, cst.StarredDictElement)))


def _bound_values(  # noqa: C901, PLR0911 - one case a kind of binding
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
        last_name(decorator.decorator.func if isinstance(decorator.decorator, cst.Call) else decorator.decorator)
        == "fixture"
        for decorator in function.decorators
    )


def _constant(view: ModuleView, node: cst.CSTNode | None) -> Any:
    """Return the string, number, bool or None an expression is, following names bound once; else `...`."""
    if node is None:
        return ...
    plain = _literal(node)
    if plain is not ...:
        return plain
    if isinstance(node, cst.Name):
        found = [origin for origin in view.origins(node) if origin is not node]
        literals = [_literal(one) for one in found if not isinstance(one, cst.Name) or _literal(one) is not ...]
        values = {repr(one): one for one in literals}
        return next(iter(values.values())) if len(values) == 1 else ...
    return ...


def _literal(node: cst.CSTNode) -> Any:
    match node:
        case cst.SimpleString() | cst.ConcatenatedString() | cst.FormattedString():
            return string_of(node) if not isinstance(node, cst.FormattedString) else ...
        case cst.Integer(value=digits) | cst.Float(value=digits):
            return ast.literal_eval(digits)
        case cst.Name(value="True" | "False" | "None" as word):
            return {"True": True, "False": False, "None": None}[word]
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer() | cst.Float() as inner):
            return -_literal(inner)
    return ...


def string_of(node: cst.CSTNode) -> str:
    """Return the text of a string literal, the fixed parts of an f-string, joined literals; empty for others."""
    match node:
        case cst.SimpleString():
            value = node.evaluated_value
            return value if isinstance(value, str) else ""
        case cst.FormattedString(parts=parts):
            texts = (part.value if isinstance(part, cst.FormattedStringText) else "{}" for part in parts)
            return "".join(texts).replace("\\n", "\n").replace("\\t", "\t")
        case cst.ConcatenatedString(left=left, right=right):
            return string_of(left) + string_of(right)
    return ""


def texts_below(node: cst.CSTNode) -> Iterator[str]:
    """Yield the texts of the string literals below a node, docstrings and nested definitions left out."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)):
            yield string_of(current)
            continue
        if isinstance(current, cst.SimpleStatementLine) and _is_docstring(current):
            continue
        waiting.extend(reversed(children(current)))


def _is_docstring(line: cst.SimpleStatementLine) -> bool:
    return len(line.body) == 1 and isinstance(line.body[0], cst.Expr) and bool(string_of(line.body[0].value))
