"""Evaluators that are handed on: to LangSmith's `evaluate`, and to a harness."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import libcst as cst
from libcst.metadata import Assignment

from .syntax import RUN_METHODS, Foreign, FunctionNode, last_name, walk
from .view import ModuleView, is_fixture, once_a_view

_PAIRWISE = "evaluate_comparative"
# LangSmith's functions, and where `evaluators` stands among their positional arguments
_METHODS = {"evaluate": 2, "aevaluate": 2, "evaluate_existing": 1, "aevaluate_existing": 1, _PAIRWISE: 1}
_Element: TypeAlias = tuple[cst.BaseExpression, cst.CSTNode | None]
_LEVELS = 4  # lists in lists


@dataclass(frozen=True, kw_only=True, eq=False)
class Given:
    """One evaluator.

    Args:
        node: how it is written.
        call: the call of `evaluate`; None in a list that another file gives.
        holder: the list it stands in, or the call that adds it to one; None where that is not to be seen.
        several: `node` is a list whose elements are not to be seen.
        functions: the functions and methods of this file it may be.
        pairwise: it compares two experiments.
        wrapped: a harness is around it.

    """

    node: cst.BaseExpression
    call: cst.Call | None = None
    holder: cst.CSTNode | None = None
    several: bool = False
    functions: tuple[FunctionNode, ...] = ()
    pairwise: bool = False
    wrapped: bool = False


def is_evaluate(view: ModuleView, call: cst.Call) -> bool:
    """Whether a call is one of LangSmith's `evaluate`, `aevaluate` and their relatives, or of its client's."""
    return _called(view, call) is not None


def _called(view: ModuleView, call: cst.Call) -> str | None:
    """Which of LangSmith's functions a call runs, whatever it is called here."""
    names = view.names(call.func)
    for full in names:
        package, _, name = full.rpartition(".")
        if name in _METHODS and package.startswith("langsmith"):
            return name
    name = last_name(call.func)
    if names or not isinstance(call.func, cst.Attribute) or name not in _METHODS:
        return None
    made = (origin.func for origin in view.origins(call.func.value) if isinstance(origin, cst.Call))
    owners = [full for one in made for full in view.names(one)]
    ours = any(full.startswith("langsmith.") for full in owners)
    return name if ours or (not owners and view.argument(call, "evaluators") is not None) else None


@once_a_view
def given_evaluators(view: ModuleView) -> tuple[Given, ...]:
    """Return every evaluator that stands in this file, and those around which a harness is written."""
    found: dict[cst.CSTNode, Given] = {}
    for call in view.calls:
        name = _called(view, call)
        given = None if name is None else _evaluators(view, call, _METHODS[name])
        if given is not None:
            pairwise = name == _PAIRWISE or _compares(view, call)
            for node, holder in _listed(view, given):
                one = _given(view, node, several=holder is None)
                found.setdefault(node, replace(one, call=call, holder=holder, pairwise=pairwise))
    for foreign, value in _registered(view):
        nodes = _listed(view, value) if foreign.several else [(value, None)]
        for node, holder in nodes:
            several = foreign.several and holder is None
            found.setdefault(node, replace(_given(view, node, several=several), holder=holder))
    for call in view.calls:
        if call not in found and is_wrapper(view, call) and _is_run_evaluator(view, call):
            found[call] = _given(view, call)
    return tuple(found.values())


def reached_from(view: ModuleView, functions: Iterable[cst.CSTNode]) -> frozenset[cst.CSTNode]:
    """Return functions and the functions of this file they run, by a call or by handing them on."""
    waiting, found = [*functions], set[cst.CSTNode]()
    while waiting:
        current = waiting.pop()
        if current in found:
            continue
        found.add(current)
        for node in walk(current):
            if isinstance(node, cst.Call):
                waiting += view.callees(node)
                handed = (origin for arg in node.args for origin in view.origins(arg.value))
                waiting += [one for one in handed if isinstance(one, cst.FunctionDef)]
    return frozenset(found)


def foreign_evaluators(view: ModuleView) -> Iterator[Foreign]:
    """Yield what this file gives to `evaluate` and imports."""
    for given in given_evaluators(view):
        for node in _inner(view, given.node) if given.wrapped else (given.node,):
            for one in view.origins(node):
                named = one.func if isinstance(one, cst.Call) else one
                if isinstance(named, (cst.Name, cst.Attribute)):
                    called = isinstance(one, cst.Call)
                    for full in sorted(view.names(named)):
                        yield Foreign(full=full, several=given.several, called=called)


def _evaluators(view: ModuleView, call: cst.Call, place: int) -> cst.BaseExpression | None:
    """The argument `evaluators` of a call, also of `**options`."""
    given = view.argument(call, "evaluators", place)
    if given is not None:
        return given
    for arg in call.args:
        for made in view.origins(arg.value) if arg.star == "**" else ():
            if isinstance(made, cst.Dict):
                pairs = (element for element in made.elements if isinstance(element, cst.DictElement))
                given = next((pair.value for pair in pairs if view.value(pair.key) == "evaluators"), None)
            elif isinstance(made, cst.Call) and last_name(made.func) == "dict":
                given = view.argument(made, "evaluators")
            if given is not None:
                return given
    return None


def _listed(view: ModuleView, given: cst.BaseExpression, level: int = _LEVELS) -> Iterator[_Element]:
    """Yield the elements of the lists an expression may be and what holds each; itself where no list is to be seen."""
    found = [_held(view, origin, level) for origin in view.origins(given)]
    if all(one is None for one in found):
        yield given, None
    for one in found:
        yield from one or ()


def _held(  # noqa: PLR0911 - one case a form
    view: ModuleView, node: cst.CSTNode, level: int
) -> list[_Element] | None:
    """What a list holds or is added to one; a name of another file itself; None for what is neither."""
    match node:
        case cst.List(elements=elements) | cst.Tuple(elements=elements) | cst.Set(elements=elements):
            return [one for element in elements for one in _element(view, element, node, level)]
        case cst.ListComp(elt=elt):
            return [(elt, node)]
        case cst.Call(func=cst.Name(value="list" | "tuple"), args=[arg]) if level:
            return list(_listed(view, arg.value, level - 1))
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="values"))):
            tables = [origin for origin in view.origins(owner) if isinstance(origin, cst.Dict)]
            held = ((one, table) for table in tables for one in view.elements(table))
            return [(one, table) for one, table in held if isinstance(one, cst.BaseExpression)] or None
        case cst.Call(func=named) | (cst.Name() as named) | (cst.Attribute() as named) if view.names(named):
            return [(node, None)]
        case cst.Name(value=name):
            return [one for call in view.additions.get(name, ()) for one in _added(view, call, level)] or None
    return None


def _element(view: ModuleView, element: cst.BaseElement, holder: cst.CSTNode, level: int) -> Iterable[_Element]:
    if isinstance(element, cst.StarredElement) and level:
        return _listed(view, element.value, level - 1)
    return ((element.value, holder),)


def _added(view: ModuleView, call: cst.Call, level: int) -> Iterator[_Element]:
    for arg in call.args:
        if last_name(call.func) == "append":
            yield arg.value, call
        elif level:
            yield from _listed(view, arg.value, level - 1)


def _given(view: ModuleView, node: cst.BaseExpression, *, several: bool = False) -> Given:
    wrapped = isinstance(node, cst.Call) and is_wrapper(view, node)
    inner = _inner(view, node) if wrapped else (node,)
    functions = dict.fromkeys(found for one in inner for found in _functions(view, one))
    return Given(node=node, functions=tuple(functions), wrapped=wrapped, several=several)


def _inner(view: ModuleView, node: cst.BaseExpression) -> tuple[cst.CSTNode, ...]:
    return tuple(given_judges(view, node)) if isinstance(node, cst.Call) else ()


def _functions(view: ModuleView, node: cst.CSTNode) -> Iterator[FunctionNode]:
    for one in view.origins(node):
        if isinstance(one, cst.Lambda) or (isinstance(one, cst.FunctionDef) and not is_fixture(one)):
            yield one
        elif isinstance(one, cst.Call):
            if any(name.endswith(".run_evaluator") for name in view.names(one.func)) and one.args:
                yield from _functions(view, one.args[0].value)
            owners = (made for made in view.origins(one.func) if isinstance(made, cst.ClassDef))
            yield from (method for owner in owners for method in _runs(view, owner))
        elif isinstance(one, cst.ClassDef):  # another file makes an object of it
            yield from _runs(view, one)
    if isinstance(node, cst.Attribute):
        yield from view.local_functions(node)


def _runs(view: ModuleView, owner: cst.ClassDef) -> Iterator[cst.FunctionDef]:
    return (method for method in view.methods(owner) if method.name.value in RUN_METHODS)


def _registered(view: ModuleView) -> Iterator[tuple[Foreign, cst.BaseExpression]]:
    """What other files give to `evaluate` and import from this one."""
    for foreign in () if view.tree is None else view.tree.evaluators(view.path):
        for node in view.own_nodes(view.module):
            match node:
                case cst.FunctionDef(name=cst.Name(value=name)) if name == foreign.full:
                    if foreign.called:
                        yield from ((foreign, one) for one in view.results(node))
                    else:
                        yield foreign, node.name
                case cst.ClassDef(name=cst.Name(value=name)) if name == foreign.full:
                    yield foreign, node.name
                case cst.Assign(targets=targets, value=value):
                    if any(last_name(one.target) == foreign.full for one in targets):
                        yield foreign, value
                case cst.AnnAssign(target=target, value=value) if value is not None:
                    if last_name(target) == foreign.full:
                        yield foreign, value


def _compares(view: ModuleView, call: cst.Call) -> bool:
    """Whether two experiments are given: `evaluate(("one", "other"), ...)`."""
    return bool(call.args) and any(isinstance(origin, cst.Tuple) for origin in view.origins(call.args[0].value))


def _is_run_evaluator(view: ModuleView, call: cst.Call) -> bool:
    return any(name.endswith(".HarnessRunEvaluator") for name in view.names(call.func))


_WRAPPERS = frozenset({"harness_evaluator", "harness_judge", "HarnessRunEvaluator", "harness_comparative"})
_HARNESS_METHODS = frozenset({"evaluate", "aevaluate", "evaluate_many", "aevaluate_many", "calibrate", "acalibrate"})
_HARNESS = "JudgeHarness"
_PLUGIN = "judgeharness"  # the fixture of the pytest plugin
_OF_PLUGIN = frozenset({"evaluate", "aevaluate", "check", "acheck"})


def harnessed_nodes(view: ModuleView) -> frozenset[cst.CSTNode]:
    """Return what flows into the package's wrappers and into `JudgeHarness.evaluate`, and what those functions call."""
    found: set[cst.CSTNode] = set()
    for call in view.calls:
        if _is_harness(view, call):
            for given in given_judges(view, call):
                found.update(_made_of(view, given))
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


def _made_of(view: ModuleView, given: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What a judge comes from, its class and the method of an object included: `Brief()`, `grader.judge`."""
    for one in view.origins(given):
        yield one
        if isinstance(one, cst.Call):
            yield from (made for made in view.origins(one.func) if isinstance(made, (cst.ClassDef, cst.FunctionDef)))
    if isinstance(given, cst.Attribute):
        yield from view.local_functions(given)


def _is_harness(view: ModuleView, call: cst.Call) -> bool:
    if is_wrapper(view, call):
        return True
    match call.func:
        case cst.Name(value=name):
            return name == _PLUGIN and _parameter(view, call.func) is not None
        case cst.Attribute(value=cst.Name(value=name) as owner, attr=cst.Name(value=method)) if name == _PLUGIN:
            return method in _OF_PLUGIN and _parameter(view, owner) is not None
        case cst.Attribute(value=owner, attr=cst.Name(value=method)):
            return method in _HARNESS_METHODS and any(_makes_harness(view, origin) for origin in view.origins(owner))
    return False


def _makes_harness(view: ModuleView, node: cst.CSTNode) -> bool:
    """`JudgeHarness.standard(...)`, a parameter that is annotated so, or what another scanned file binds to one."""
    called = node.func if isinstance(node, cst.Call) else node
    if not isinstance(called, (cst.Name, cst.Attribute)):
        return False
    if isinstance(called, cst.Attribute) and isinstance(called.value, cst.Call):  # `.limited(...)`
        return any(_makes_harness(view, origin) for origin in view.origins(called.value))
    names, tree = view.names(called), view.tree
    if isinstance(node, cst.Call) and any(map(_is_ours, names)):
        return True
    if tree is not None and any(tree.makes_harness(view.path, full) for full in names):
        return True
    return isinstance(node, cst.Name) and _is_given_harness(view, node)


def _is_given_harness(view: ModuleView, node: cst.Name) -> bool:
    param = _parameter(view, node)
    if param is None:
        return False
    if param.annotation is not None and any(map(_is_ours, view.names(param.annotation.annotation))):
        return True
    return view.tree is not None and view.tree.has_harness_fixture(view.path, param.name.value)


def _is_ours(full: str) -> bool:
    return full.startswith("judgeharness_integrations.") and _HARNESS in full.split(".")


def _parameter(view: ModuleView, node: cst.Name) -> cst.Param | None:
    """The parameter a name stands for."""
    scope = view.scope(node)
    bound = (one.node for one in (() if scope is None else scope[node.value]) if isinstance(one, Assignment))
    holders = (one if isinstance(one, cst.Param) else view.parent(one) for one in bound)
    return next((one for one in holders if isinstance(one, cst.Param)), None)


def given_judges(view: ModuleView, call: cst.Call) -> Iterator[cst.CSTNode]:
    """Yield the judges a wrapper is given: its first argument, or what the list in it holds."""
    for place, keyword in ((0, "judge"), (None, "evaluator"), (None, "judges")):
        given = view.argument(call, keyword, place)
        if given is not None:
            yield given
            yield from view.elements(given)
