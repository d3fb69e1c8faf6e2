"""How often code asks about one case, and makes a judge: loops, copies of a call, decorators that try again."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

import libcst as cst

from .questions import all_questions
from .syntax import last_name, walk
from .view import ModuleView

_LEVELS = 3  # functions up the call chain
_NOT_THE_CASE = frozenset({"seed", "run", "trial", "repetition", "attempt", "sample", "temperature", "run_id", "i"})
_BUILDS = re.compile(r"prompt|format|render|build|make|message|template|dump|load|read|join|str", re.IGNORECASE)
_KEEPS = frozenset({"append", "add", "extend", "update", "insert", "appendleft"})


def samples_of(view: ModuleView, asks: Iterable[cst.Call]) -> int | None:
    """Return the largest number of calls about one case among calls of one judge; 1 when there are none."""
    asks = list(asks)
    counts: list[int | None] = [_samples(view, ask, _LEVELS) for ask in asks]
    if any(count is None for count in counts):
        return None
    return max([1, *_copies(view, asks), *(count for count in counts if count is not None)])


def _samples(view: ModuleView, ask: cst.Call, levels: int) -> int | None:
    """Product over the repeating loops around a call and around the calls of its function."""
    found: list[int | None] = [repetition(view, loop, ask) for loop in loops_around(view, ask)]
    given = view.argument(ask, "n")
    several = view.value(given) if given is not None else 1
    found.append(several if isinstance(several, int) else 1)
    found.append(_batched(view, ask))
    function = view.function_of(ask)
    if function is not None and levels > 0:
        above = [_samples(view, call, levels - 1) for call in view.direct_calls(function) if call is not ask]
        found.append(None if None in above else max([1, *(node for node in above if node is not None)]))
    return None if any(one is None for one in found) else prod(one for one in found if one is not None)


def _batched(view: ModuleView, ask: cst.Call) -> int | None:
    """`llm.batch([prompt] * 5)` asks five times."""
    if last_name(ask.func) not in {"batch", "abatch", "generate", "agenerate"} or not ask.args:
        return 1
    for origin in view.origins(ask.args[0].value):
        match origin:
            case cst.BinaryOperation(left=cst.List(elements=[_]), operator=cst.Multiply(), right=times):
                value = view.value(times)
                return value if isinstance(value, int) else None
    return 1


def _copies(view: ModuleView, asks: list[cst.Call]) -> Iterator[int]:
    """The same call written several times in one block, its arguments in any order: `judge(a, b)`, `judge(b, a)`."""
    seen: dict[tuple[cst.CSTNode | None, tuple[str, ...]], int] = {}
    for ask in asks:
        if ask.args:
            block = next((node for node in view.above(ask) if isinstance(node, cst.BaseSuite)), None)
            arguments = tuple(sorted(view.module.code_for_node(arg.value) for arg in ask.args))
            seen[block, arguments] = seen.get((block, arguments), 0) + (not changed_in(block, ask))
    yield from seen.values()


def changed_in(block: cst.CSTNode | None, ask: cst.Call) -> bool:
    """Return whether a block assigns what a call is about: then each time is another question."""
    names = _names(arg.value for arg in ask.args)
    return block is not None and bool(names & assigned_names(block))


def assigned_names(block: cst.CSTNode) -> set[str]:
    """Return the variables that are assigned in a block, not counting functions inside it."""
    found: set[str] = set()
    for node in walk(block, stop=(cst.FunctionDef, cst.ClassDef, cst.Lambda)):
        if isinstance(node, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.NamedExpr)):
            target = node.target
            parts = target.elements if isinstance(target, (cst.Tuple, cst.List)) else ()
            found |= {one.value for one in (target, *(part.value for part in parts)) if isinstance(one, cst.Name)}
    return found


def loops_around(view: ModuleView, node: cst.CSTNode) -> Iterator[cst.For | cst.While | cst.CompFor]:
    """The loops and comprehensions around a node within its function, from the inside out."""
    child: cst.CSTNode = node
    for above in view.above(node):
        if isinstance(above, (cst.FunctionDef, cst.ClassDef)):
            return
        if isinstance(above, (cst.For, cst.While)) and child is above.body:
            yield above
        elif isinstance(above, (cst.BaseSimpleComp, cst.DictComp)) and child is not above.for_in:
            loop: cst.CompFor | None = above.for_in
            while loop is not None:
                yield loop
                loop = loop.inner_for_in
        child = above


def repetition(view: ModuleView, loop: cst.For | cst.While | cst.CompFor, ask: cst.Call) -> int | None:
    """Return how often a loop asks the same question again: 1 if it is another one each time, None if unknown often."""
    if isinstance(loop, cst.While) or not _is_counted(view, loop.iter):
        return 1
    names = _names([loop.target])
    if names != {"_"} and _reaches(names, loop, ask):
        return 1
    if _asks_the_application(view, ask):
        return 1
    if isinstance(loop, cst.For) and not _kept(loop):
        return None if _ends_on_the_answer(loop, ask) else 1
    return _times(view, loop.iter)


def _asks_the_application(view: ModuleView, ask: cst.Call) -> bool:
    """Whether the text that is judged is made anew each time: `judge(outputs=app(question))`."""
    inner = [node for arg in ask.args for node in (arg.value, *walk(arg.value)) if isinstance(node, cst.Call)]
    return any(_makes_text(view, call) for call in inner)


def _makes_text(view: ModuleView, call: cst.Call) -> bool:
    if isinstance(call.func, cst.Attribute):
        return call in all_questions(view) or call.func.attr.value in {"run", "answer", "respond", "reply"}
    if view.callees(call):
        return call in all_questions(view)
    scope = view.scope(call.func)
    bound = scope is not None and isinstance(call.func, cst.Name) and call.func.value in scope
    return bound and not _BUILDS.search(last_name(call.func)) and last_name(call.func) not in dir(builtins)


def _is_counted(view: ModuleView, iterated: cst.BaseExpression) -> bool:
    match iterated:
        case cst.Call(func=cst.Name(value="range" | "trange")):
            return True
        case cst.Call(func=cst.Name(value="tqdm") | cst.Attribute(attr=cst.Name(value="tqdm")), args=[first, *_]):
            return _is_counted(view, first.value)
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="repeat"))):
            return True
    return any(
        isinstance(origin, (cst.List, cst.Tuple))
        and bool(origin.elements)
        and all(isinstance(element.value, (cst.Integer, cst.Float)) for element in origin.elements)
        for origin in view.origins(iterated)
    )


def _times(view: ModuleView, iterated: cst.BaseExpression) -> int | None:
    match iterated:
        case cst.Call(func=cst.Name(value="range" | "trange"), args=args):
            bounds = [view.value(arg.value) for arg in args if arg.keyword is None]
            if bounds and all(isinstance(bound, int) for bound in bounds):
                return len(range(*bounds))
            return None
        case cst.Call(args=[first, *_]):
            return _times(view, first.value)
    lengths = [len(origin.elements) for origin in view.origins(iterated) if isinstance(origin, (cst.List, cst.Tuple))]
    return lengths[0] if lengths else None


def _reaches(names: set[str], loop: cst.For | cst.CompFor, ask: cst.Call) -> bool:
    """Whether the loop's variables, or what the loop makes of them, are part of the question."""
    reached = set(names)
    if isinstance(loop, cst.For):
        for node in walk(loop.body):
            if isinstance(node, cst.Assign) and _mentions(node.value, reached) and not _holds(node, ask):
                reached |= {one.value for target in node.targets for one in walk(target) if isinstance(one, cst.Name)}
    inner: list[cst.CSTNode] = [
        arg.value for arg in ask.args if arg.keyword is None or arg.keyword.value not in _NOT_THE_CASE
    ]
    return any(_mentions(one, reached) for one in [*inner, ask.func])


def _holds(node: cst.CSTNode, inner: cst.CSTNode) -> bool:
    return any(one is inner for one in walk(node))


def _mentions(node: cst.CSTNode, names: set[str]) -> bool:
    return any(isinstance(one, cst.Name) and one.value in names for one in (node, *walk(node)))


def _ends_on_the_answer(loop: cst.For, ask: cst.Call) -> bool:
    """Whether a loop is left when the answer says something; that there is one at all is no reason to ask on."""
    answers = {
        target.target.value
        for node in walk(loop.body)
        if isinstance(node, cst.Assign) and (node.value is ask or _holds(node.value, ask))
        for target in node.targets
        if isinstance(target.target, cst.Name)
    }
    return any(
        isinstance(node, cst.If)
        and _on_an_answer(node.test, answers, ask)
        and any(isinstance(one, (cst.Break, cst.Return)) for one in walk(node.body))
        for node in walk(loop.body, stop=(cst.FunctionDef,))
    )


def _on_an_answer(test: cst.BaseExpression, answers: set[str], ask: cst.Call) -> bool:
    match test:
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.Is() | cst.IsNot())]) | cst.Name():
            return False
        case cst.UnaryOperation(expression=cst.Name()):
            return False
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.In() | cst.NotIn(), comparator=known)]):
            if isinstance(known, (cst.Set, cst.List, cst.Tuple, cst.Name, cst.Attribute)):
                return False  # whether it is one of the answers that can be read
    return test is ask or _holds(test, ask) or _mentions(test, answers)


def _kept(loop: cst.For) -> bool:
    """Whether the loop collects something: a loop that only tries until it has one answer does not repeat."""
    for node in walk(loop.body):
        match node:
            case cst.AugAssign() | cst.Yield() | cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript())]):
                return True
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=name))) if name in _KEEPS:
                return True
    return False


_SAME_LENGTH = frozenset({"list", "tuple", "sorted", "enumerate", "reversed", "tqdm"})
_OF_A_DICT = frozenset({"items", "keys", "values"})


@dataclass(frozen=True, kw_only=True)
class JudgeCount:
    """How many judges a call makes; at least so many where it is not `exact`."""

    count: int = 1
    exact: bool = True


def judge_count(view: ModuleView, call: cst.Call) -> JudgeCount:
    """Return how many judges a call makes, by the literals that the loops around it run over.

    A loop counts where it makes a list or dict of judges, or where what it runs over is part of the judge: a judge
    that is made anew for each case is one judge.
    """
    count, exact = 1, True
    for loop in loops_around(view, call):
        if not _counts(loop, call):
            continue
        length = None if getattr(loop, "ifs", ()) else literal_length(view, getattr(loop, "iter", None))
        count, exact = count * (1 if length is None else length), exact and length is not None
    return JudgeCount(count=count, exact=exact)


def _counts(loop: cst.For | cst.While | cst.CompFor, call: cst.Call) -> bool:
    if isinstance(loop, cst.While):
        return False
    return isinstance(loop, cst.CompFor) or bool(_names([loop.target]) & _names(arg.value for arg in call.args))


def _names(nodes: Iterable[cst.CSTNode]) -> set[str]:
    return {one.value for node in nodes for one in (node, *walk(node)) if isinstance(one, cst.Name)}


def literal_length(view: ModuleView, node: cst.CSTNode | None) -> int | None:
    """Return how many elements an iterable has; None where only running the code tells."""
    literals = () if node is None else view.origins(node)
    lengths = {found for one in literals if (found := _length_of(view, one)) is not None}
    return lengths.pop() if len(lengths) == 1 else None


def _length_of(view: ModuleView, node: cst.CSTNode) -> int | None:
    match node:
        case cst.List(elements=inner) | cst.Tuple(elements=inner) | cst.Set(elements=inner):
            return None if any(isinstance(one, cst.StarredElement) for one in inner) else len(inner)
        case cst.Dict(elements=pairs):
            return None if any(isinstance(pair, cst.StarredDictElement) for pair in pairs) else len(pairs)
        case cst.Call(func=cst.Name(value="range"), args=args):
            bounds = [view.value(arg.value) for arg in args]
            return len(range(*bounds)) if bounds and all(isinstance(bound, int) for bound in bounds) else None
        case cst.Call(func=cst.Name(value=name), args=[first, *_]) if name in _SAME_LENGTH:
            return literal_length(view, first.value)
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=name)), args=[]) if name in _OF_A_DICT:
            return literal_length(view, owner)
    return None


_ON_RESULTS = frozenset({"retry_if_result", "retry_if_not_result", "on_predicate", "retry_on_result"})


def retried_on_results(view: ModuleView, function: cst.FunctionDef) -> Iterator[cst.Decorator]:
    """Yield the decorators of a function that compare its result with a text or a number, None and emptiness left out.

    A test for None asks whether there is an answer at all, which is another question.
    """
    for decorator in function.decorators:
        calls = (node for node in walk(decorator) if isinstance(node, cst.Call) and last_name(node.func) in _ON_RESULTS)
        if any(_compares(view, given) for call in calls for arg in call.args for given in view.origins(arg.value)):
            yield decorator


def _compares(view: ModuleView, tested: cst.CSTNode) -> bool:
    if not isinstance(tested, (cst.Lambda, cst.FunctionDef)):
        return False
    for node in walk(tested):
        match node:
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(comparator=right)]):
                values = (view.value(left), view.value(right))
                if any(isinstance(value, (str, int, float)) and value != "" for value in values):
                    return True
    return False
