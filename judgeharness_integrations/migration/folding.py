"""Expressions that make one value of several verdicts: shares, means, majorities, thresholds over counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from judgeharness_integrations.migration.repeating import loops_around, repetition
from judgeharness_integrations.migration.transfers import COLLECTING, uses_of
from judgeharness_integrations.migration.tree import last_name, walk

if TYPE_CHECKING:
    from judgeharness_integrations.migration.flow import Flow
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["Fold", "folds_of"]

_FUNCTIONS = frozenset(
    {"mean", "fmean", "median", "mode", "multimode", "average", "nanmean", "median_low", "median_high"}
)
_METHODS = frozenset({"mean", "median", "mode", "idxmax"})
_COUNTS = frozenset({"sum", "len"})
_ORDER = (cst.GreaterThan, cst.GreaterThanEqual, cst.LessThan, cst.LessThanEqual)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fold:
    """An expression, how it folds, and whether what it folds are repeats about one case."""

    node: cst.BaseExpression
    way: str
    repeats: bool


def folds_of(view: ModuleView, flow: Flow) -> tuple[Fold, ...]:
    """Return the outermost expressions that fold values of a flow, in the order of the text."""
    found: dict[cst.CSTNode, str] = {}
    for node in view.nodes:
        way = _way(view, flow, node)
        if way is not None and not any(above in found for above in _expression_above(view, node)):
            found[node] = way
    return tuple(
        Fold(node=node, way=way, repeats=_repeats(view, flow, node))
        for node, way in found.items()
        if isinstance(node, cst.BaseExpression)
    )


def _expression_above(view: ModuleView, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for above in view.above(node):
        if isinstance(above, (cst.BaseStatement, cst.BaseSmallStatement, cst.BaseSuite)):
            return
        yield above


def _way(view: ModuleView, flow: Flow, node: cst.CSTNode) -> str | None:  # noqa: PLR0911 - one case a form
    match node:
        case cst.BinaryOperation(left=left, operator=cst.Divide()) if _is_tally(view, flow, left):
            return "a share or mean"
        case cst.Comparison() if _is_threshold(view, flow, node):
            return "a threshold over counts"
        case cst.Call(func=func, args=[first, *_]) if last_name(func) in _FUNCTIONS and flow.gathers(first.value):
            return last_name(func)
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=name))):
            if name in _METHODS and flow.gathers(owner):
                return name
            if name == "most_common" and flow.gathers(owner):
                return "the most common verdict"
        case cst.Call(func=cst.Name(value="max" | "min"), args=[first, *others]) if _is_most(flow, first, others):
            return "the most common verdict"
    return None


def _is_most(flow: Flow, first: cst.Arg, others: object) -> bool:
    """`max(set(votes), key=votes.count)`, `max(counts, key=counts.get)`."""
    keyed = isinstance(others, (list, tuple)) and any(
        isinstance(arg, cst.Arg)
        and arg.keyword is not None
        and arg.keyword.value == "key"
        and last_name(arg.value) in {"count", "get"}
        for arg in others
    )
    return keyed and flow.gathers(first.value)


def _is_threshold(view: ModuleView, flow: Flow, node: cst.Comparison) -> bool:
    if not all(isinstance(one.operator, _ORDER) for one in node.comparisons):
        return False
    return any(_is_tally(view, flow, side) for side in (node.left, *(one.comparator for one in node.comparisons)))


def _is_tally(view: ModuleView, flow: Flow, node: cst.CSTNode) -> bool:
    """`sum(verdicts)`, `verdicts.count("A")`, `len([v for v in verdicts if v])`, or a variable that counts them."""
    match node:
        case cst.Call(func=cst.Name(value=name), args=[first, *_]) if name in _COUNTS:
            chosen = (
                name == "sum" or isinstance(first.value, (cst.ListComp, cst.SetComp)) or _is_kept(view, first.value)
            )
            return chosen and flow.gathers(first.value)
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="count" | "sum"))):
            return flow.gathers(owner)
        case cst.BinaryOperation(left=left, operator=cst.Add() | cst.Subtract() | cst.Multiply(), right=right):
            return _is_tally(view, flow, left) or _is_tally(view, flow, right)
        case cst.Name() | cst.Subscript() | cst.Attribute():
            return flow.gathers(node) and (_is_counter(view, node) or _is_named_tally(view, flow, node))
    return False


def _is_kept(view: ModuleView, node: cst.CSTNode) -> bool:
    """A list that a filtering comprehension or an `append` under a condition made."""
    return any(isinstance(one, cst.ListComp) and one.for_in.ifs for one in view.origins(node)) or any(
        isinstance(above, cst.If)
        for call in view.calls
        if isinstance(call.func, cst.Attribute)
        and last_name(call.func) in COLLECTING
        and last_name(call.func.value) == last_name(node) != ""
        for above in view.above(call)
    )


def _is_named_tally(view: ModuleView, flow: Flow, node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and any(
        isinstance(one, (cst.Call, cst.BinaryOperation)) and _is_tally(view, flow, one) for one in view.steps(node)
    )


def _is_counter(view: ModuleView, node: cst.CSTNode) -> bool:
    """Whether the variable is added to, or is handed out of one that is: `for name, total in totals.items()`."""
    names = {name for _, name in uses_of(view, node).names}
    for one in view.nodes:
        match one:
            case cst.AugAssign(target=target, operator=cst.AddAssign()):
                if names & {name for _, name in uses_of(view, _owner(target)).names}:
                    return True
            case cst.CompFor(target=target, iter=iterated) | cst.For(target=target, iter=iterated):
                bound = {name for _, name in uses_of(view, target).names}
                is_items = isinstance(iterated, cst.Call) and last_name(iterated.func) in {"items", "values"}
                if is_items and names & bound and isinstance(iterated, cst.Call):
                    owner = iterated.func.value if isinstance(iterated.func, cst.Attribute) else iterated.func
                    if owner is not node and not (names & {name for _, name in uses_of(view, owner).names}):
                        return _is_counter(view, owner)
    return False


def _owner(target: cst.BaseExpression) -> cst.BaseExpression:
    while isinstance(target, cst.Subscript):
        target = target.value
    return target


def _repeats(view: ModuleView, flow: Flow, fold: cst.CSTNode) -> bool:
    """Whether the folded collection is filled by a loop that asks about one case again and again."""
    function = view.function_of(fold)
    for call in flow.calls:
        if view.function_of(call) is not function:
            continue
        if call in flow.seeds and flow.several:
            return True
        if any(repetition(view, loop, call) != 1 for loop in loops_around(view, call)):
            inside = any(one is call for one in walk(fold))
            uses = uses_of(view, fold)
            if inside or any(name in flow.collected for name in uses.names):
                return True
    return False
