"""A module's tree, indexed once: nodes, what is around them, scopes, positions, fields of classes, results."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import libcst as cst
from libcst.metadata import (
    Assignment,
    CodeRange,
    MetadataWrapper,
    PositionProvider,
    Scope,
    ScopeProvider,
)

from judgeharness_integrations.migration.tree import children, dotted, last_name, walk

__all__ = ["ModuleIndex"]


class ModuleIndex:
    """One parsed module, indexed; every method takes nodes of its tree."""

    def __init__(self, wrapper: MetadataWrapper) -> None:
        """Index the tree once."""
        self.wrapper = wrapper
        self.module = wrapper.module
        self._scopes = wrapper.resolve(ScopeProvider)
        self._fields: dict[cst.ClassDef, dict[str, list[cst.CSTNode]]] = {}
        self._results: dict[cst.FunctionDef, tuple[cst.BaseExpression, ...]] = {}
        nodes = tuple(walk(self.module))
        self.nodes = nodes
        self._parents = {below: node for node in (self.module, *nodes) for below in children(node)}
        self.calls = tuple(node for node in nodes if isinstance(node, cst.Call))
        self.functions = tuple(node for node in nodes if isinstance(node, cst.FunctionDef))
        self.classes = tuple(node for node in nodes if isinstance(node, cst.ClassDef))

    @cached_property
    def _positions(self) -> Any:
        return self.wrapper.resolve(PositionProvider)

    @cached_property
    def star_modules(self) -> tuple[str, ...]:
        """Modules whose names are imported with `*`."""
        return tuple(
            "." * len(node.relative) + dotted(node.module)
            for node in self.nodes
            if isinstance(node, cst.ImportFrom) and isinstance(node.names, cst.ImportStar) and node.module is not None
        )

    def position(self, node: cst.CSTNode) -> CodeRange:
        """Where a node stands; lines from 1, columns from 0."""
        found: CodeRange = self._positions[node]
        return found

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node around a node."""
        return self._parents.get(node)

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Nodes around a node, from the inside out."""
        current = self.parent(node)
        while current is not None:
            yield current
            current = self.parent(current)

    def function_of(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The function a node stands in; its own decorators and defaults count as inside."""
        return next((found for found in self.above(node) if isinstance(found, cst.FunctionDef)), None)

    def class_of(self, node: cst.CSTNode) -> cst.ClassDef | None:
        """The class a node stands in."""
        return next((found for found in self.above(node) if isinstance(found, cst.ClassDef)), None)

    def scope(self, node: cst.CSTNode) -> Scope | None:
        """The scope a node is looked up in."""
        found = self._scopes.get(node)
        if found is not None:
            return found
        return next((self._scopes[above] for above in self.above(node) if self._scopes.get(above) is not None), None)

    def methods(self, owner: cst.ClassDef) -> tuple[cst.FunctionDef, ...]:
        """The methods of a class."""
        definitions = (cst.FunctionDef, cst.ClassDef)
        return tuple(
            one
            for one in self.functions
            if next((a for a in self.above(one) if isinstance(a, definitions)), None) is owner
        )

    def attribute_values(self, node: cst.CSTNode, name: str) -> tuple[cst.CSTNode, ...]:
        """What the class around a node assigns to `self.<name>` or `<name>`; a method of that name too."""
        owner = self.class_of(node)
        if owner is None:
            return ()
        if owner not in self._fields:
            self._fields[owner] = _fields_of(owner)
        return tuple(self._fields[owner].get(name, ()))

    def results(self, function: cst.FunctionDef) -> tuple[cst.BaseExpression, ...]:
        """What a function returns or yields."""
        if function not in self._results:
            self._results[function] = tuple(
                node.value
                for node in self.own_nodes(function)
                if isinstance(node, (cst.Return, cst.Yield)) and isinstance(node.value, cst.BaseExpression)
            )
        return self._results[function]

    def own_nodes(self, function: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Nodes of a function's (or module's) body, those of functions and classes inside it left out."""
        yield from walk(function, stop=(cst.FunctionDef, cst.ClassDef))

    def argument(self, call: cst.Call, name: str, place: int | None = None) -> cst.BaseExpression | None:
        """The argument of a call with that keyword, or at that place among the positional ones."""
        for arg in call.args:
            if arg.keyword is not None and arg.keyword.value == name:
                return arg.value
        positional = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
        return positional[place] if place is not None and place < len(positional) else None

    def home(self, node: cst.CSTNode, name: str) -> cst.CSTNode | None:
        """The function whose variable a name is at a node; None for the module."""
        scope = self.scope(node)
        for one in () if scope is None else scope[name]:
            return getattr(one.scope, "node", None)
        return None

    def direct_calls(self, function: cst.FunctionDef) -> tuple[cst.Call, ...]:
        """Calls that name a function as it is defined; a method is called on `self` or on anything."""
        return tuple(
            call for call in self._calls_by_name.get(function.name.value, ()) if self._names_it(call, function)
        )

    def _names_it(self, call: cst.Call, function: cst.FunctionDef) -> bool:
        if isinstance(call.func, cst.Attribute):
            return self.class_of(function) is not None
        scope = self.scope(call.func)
        return scope is not None and any(
            isinstance(one, Assignment) and one.node is function for one in scope[function.name.value]
        )

    @cached_property
    def _calls_by_name(self) -> dict[str, list[cst.Call]]:
        found: dict[str, list[cst.Call]] = {}
        for call in self.calls:
            found.setdefault(last_name(call.func), []).append(call)
        return found


def _fields_of(owner: cst.ClassDef) -> dict[str, list[cst.CSTNode]]:
    """Name of a field -> what it is assigned, anywhere in the class; methods are fields too."""
    found: dict[str, list[cst.CSTNode]] = {}
    for node in walk(owner):
        match node:
            case cst.Assign(targets=targets, value=value):
                for one in targets:
                    found.setdefault(_field(one.target), []).append(value)
            case cst.AnnAssign(target=target, value=value) if value is not None:
                found.setdefault(_field(target), []).append(value)
            case cst.FunctionDef(name=cst.Name(value=name)):
                found.setdefault(name, []).append(node)
    return found


def _field(target: cst.BaseExpression) -> str:
    match target:
        case cst.Name(value=name) | cst.Attribute(value=cst.Name(value="self" | "cls"), attr=cst.Name(value=name)):
            return name
    return ""
