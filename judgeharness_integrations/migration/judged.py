"""Expressions that are what a judge decided: its `value` or `score`, or whether it decided at all."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from judgeharness_integrations.migration.flow import Flow
from judgeharness_integrations.migration.tree import last_name
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["Judged"]

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
            return next((found for one in self.view.steps(node) if (found := self.status(one))), None)
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
                return any(self._is_result(one, depth + 1) for one in self.view.steps(node))
        return False

    def _code(self, node: cst.CSTNode) -> str:
        return self.view.module.code_for_node(node)
