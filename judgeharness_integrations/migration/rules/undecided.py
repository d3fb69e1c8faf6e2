"""JH013: a test that passes, or a mean that comes out, where the judge decided nothing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import libcst as cst

from ..flow import Judged, guards_of
from ..inspection import Inspection, Problem, Rule, described
from ..syntax import JudgeSite, is_none, last_name, walk

_FRAMEWORKS = frozenset({"langchain", "openevals"})  # their results hold a value or a score
_SUMS = frozenset({"sum", "fsum", "nansum"})
_MEANS = frozenset({"mean", "fmean", "average", "nanmean", "median", "nanmedian"})
_NUMBERS = frozenset({"float", "int"})
_GATHERS = frozenset({"array", "asarray", "Series", "list", "tuple"})
_FAILING = frozenset({"fail", "exit", "skip", "_exit", "xfail"})
_COMPARING: Final[dict[str, type[cst.BaseCompOp]]] = {
    "assertEqual": cst.Equal,
    "assertNotEqual": cst.NotEqual,
    "assertIn": cst.In,
    "assertNotIn": cst.NotIn,
    "assertIs": cst.Is,
    "assertIsNot": cst.IsNot,
    "assertGreater": cst.GreaterThan,
    "assertGreaterEqual": cst.GreaterThanEqual,
    "assertLess": cst.LessThan,
    "assertLessEqual": cst.LessThanEqual,
}
_TRUTHS = {"assertTrue": True, "assert_": True, "assertFalse": False}


@dataclass(frozen=True, kw_only=True)
class _Test:
    """A statement that ends a test unless its expressions come to what they should.

    `wanted` is the truth value of the expression with which the test goes on; `how` compares two expressions. `leaves`:
    the test is left otherwise, and does not fail.
    """

    node: cst.CSTNode
    given: tuple[cst.BaseExpression, ...]
    wanted: bool = True
    how: type[cst.BaseCompOp] | None = None
    leaves: bool = False

    def goes_on(self, undecided: Undecided) -> bool | None:
        """Whether the test goes on where nothing was decided; None where only running it tells."""
        if self.how is not None:
            undecided.note_none(self.given)
        try:
            values = [undecided.value(entry) for entry in self.given]
            found = values[0] if self.how is None else undecided.compared(values[0], self.how, values[1])
        except Raised:
            return False
        if not isinstance(found, (bool, int, float, str, tuple, type(None))):
            return None
        return bool(found) is self.wanted


def _python(inspection: Inspection) -> Iterator[Problem]:
    tests = list(_tests(inspection))
    for site in inspection.sites:
        if site.framework not in _FRAMEWORKS or site.deterministic:
            continue
        judged = Judged(inspection.view, inspection.flow(site, decisions=False))
        passing = _passing(judged, tests)
        for node, message in [*_assertions(site, passing), *_folds(judged, site, passing, tests)]:
            yield Problem(node, message, site)


def _passing(judged: Judged, tests: list[_Test]) -> list[_Test]:
    """Return the tests that pass without a verdict and that nothing else in their function makes fail then."""
    found = []
    for one in tests:
        undecided = Undecided(judged)
        goes_on = not one.leaves and one.goes_on(undecided)
        silent = goes_on and undecided.seen and not undecided.explicit
        if silent and not _guarded(judged, one.node, undecided.seen, tests):
            found.append(one)
    return found


def _guarded(
    judged: Judged, node: cst.CSTNode, results: set[str], tests: list[_Test], *, by_name: bool = False
) -> bool:
    """Whether a place is not reached, or another test of its function fails, where the results hold no decision.

    `by_name`: only tests count that speak of None or of the status.
    """
    for condition in guards_of(judged.view, node):
        undecided = Undecided(judged, results)
        _Test(node=condition, given=(condition,)).goes_on(undecided)  # type: ignore[arg-type]
        if undecided.seen:
            return True
    function = judged.view.function_of(node)
    for one in tests:
        if one.node is not node and judged.view.function_of(one.node) is function:
            undecided = Undecided(judged, results)
            if one.goes_on(undecided) is False and undecided.seen and (undecided.explicit or not by_name):
                return True
    return False


def _assertions(site: JudgeSite, passing: list[_Test]) -> Iterator[tuple[cst.CSTNode, str]]:
    for one in passing:
        message = (
            f"this passes where {described(site)} gives no verdict (None: an abstention, or a tie): say which verdicts "
            "are good with == or in, or assert first that there is one."
        )
        yield one.node, message


def _tests(inspection: Inspection) -> Iterator[_Test]:
    for node in inspection.view.nodes:
        match node:
            case cst.Assert(test=test):
                yield _Test(node=node, given=(test,))
            case cst.If(test=test, body=body, orelse=None) if (ends := _ends(body)) is not None:
                yield _Test(node=node, given=(test,), wanted=False, leaves=ends)
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=name)), args=args) if name.startswith("assert"):
                given = tuple(arg.value for arg in args)
                if name in _TRUTHS and given:
                    yield _Test(node=node, given=given[:1], wanted=_TRUTHS[name])
                elif name in _COMPARING and len(given) > 1:
                    yield _Test(node=node, given=given[:2], how=_COMPARING[name])
                elif name == "assertIsNotNone" and given:
                    yield _Test(node=node, given=given[:1])


def _ends(body: cst.CSTNode) -> bool | None:
    """Whether a branch leaves the test without failing it; None where the test goes on behind it."""
    for node in walk(body, stop=(cst.FunctionDef, cst.If, cst.For, cst.While)):
        match node:
            case cst.Raise():
                return False
            case cst.Call(func=func) if last_name(func) in _FAILING:
                return last_name(func) in {"skip", "xfail"}
            case cst.Return() | cst.Continue():
                return True
    return None


def _folds(
    judged: Judged, site: JudgeSite, passing: list[_Test], tests: list[_Test]
) -> Iterator[tuple[cst.CSTNode, str]]:
    within = {below for one in passing for below in walk(one.node)}
    for node in judged.view.nodes:
        found = _folded(judged, node)
        if found is None or node in within:
            continue
        way, results = found
        if not _guarded(judged, node, results, tests, by_name=True):
            message = (
                f"scores of {described(site)} become {way}, and a score is None where nothing was decided: assert "
                "first that each case was, or say what such a case is worth."
            )
            yield node, message


def _folded(judged: Judged, node: cst.CSTNode) -> tuple[str, set[str]] | None:
    """Return how an expression folds scores, and of which results."""
    match node:
        case cst.Call(func=func, args=[first, *_]) if last_name(func) in _SUMS | _MEANS:
            way, scores = "a sum" if last_name(func) in _SUMS else "a mean", _scores(judged, first.value)
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=name)), args=[]) if name in _SUMS | _MEANS:
            way, scores = "a sum" if name in _SUMS else "a mean", _scores(judged, owner)
        case cst.AugAssign(operator=cst.AddAssign(), value=value):
            way, scores = "a sum", _score(judged, value)
        case _:
            return None
    return None if scores is None else (way, {scores})


def _scores(judged: Judged, node: cst.CSTNode, depth: int = 0) -> str | None:
    """Return of whose results several scores are: a comprehension, a list that is filled, an array of either."""
    match node:
        case cst.ListComp(elt=elt, for_in=loop) | cst.GeneratorExp(elt=elt, for_in=loop):
            return None if any(_asks_for_none(judged, one.test) for one in loop.ifs) else _score(judged, elt)
        case cst.List(elements=elements):
            return next((found for element in elements if (found := _score(judged, element.value))), None)
        case cst.Call(func=func, args=[first, *_]) if last_name(func) in _GATHERS:
            return _scores(judged, first.value, depth)
        case cst.Name() if not depth:
            sources = judged.view.steps(node)
            filled = (found for one in judged.appended(node) if (found := _score(judged, one)))
            return next((found for one in sources if (found := _scores(judged, one, 1))), None) or next(filled, None)
    return None


def _score(judged: Judged, node: cst.CSTNode) -> str | None:
    """Return of whose result a score is: as it is, as a number, or with a default in its place."""
    match node:
        case cst.BooleanOperation(operator=cst.Or(), left=left):
            return judged.decision(left)
        case cst.Call(func=cst.Name(value=name), args=[first]) if name in _NUMBERS:
            return _score(judged, first.value)
    return judged.decision(node)


def _asks_for_none(judged: Judged, test: cst.BaseExpression) -> bool:
    """Whether a filter speaks of None or of the status."""
    undecided = Undecided(judged)
    _Test(node=test, given=(test,)).goes_on(undecided)
    return undecided.explicit


UNDECIDED_PASSES = Rule(
    code="JH013",
    name="passes without a verdict",
    explanation=(
        "A judge's value or score is None where it gives no verdict: a tie, an abstention of a harness, too few valid "
        "answers. Some tests pass then: value != 'B', value not in ('B',), not value, all(... != 'B'), the equality "
        "of two values; sums and means end with a TypeError, or count such a case as 0 or not at all (score or 0, "
        "if score). Found where the value is read from the result of an evaluator of LangChain or openevals, harnessed "
        "or not, and nothing else in the same function fails on None, asks for it or looks at the status. Say which "
        "verdicts are good (== 'A', in ('A', 'TIE')), or assert that the status is decided first."
    ),
    python=_python,
)


class _Mark:
    """A value that is known by its name alone."""


_UNKNOWN: Final = _Mark()  # something, and not None
_STATUS: Final = _Mark()  # `abstained` or `not_graded`
_ORDER: Mapping[type[cst.BaseCompOp], Callable[[Any, Any], bool]] = {
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
}
_NEGATED: Mapping[type[cst.BaseCompOp], type[cst.BaseCompOp]] = {
    cst.NotEqual: cst.Equal,
    cst.IsNot: cst.Is,
    cst.NotIn: cst.In,
}
_NEEDS_A_VALUE = frozenset({"float", "int", "len", "abs", "round", "max", "min"})
_DEPTH = 12


class Raised(Exception):  # noqa: N818 - what the code under inspection would do
    """The expression raises, as `None > 0.5` does."""


class Undecided:
    """Evaluates expressions with None for what a judge decided.

    `seen` are the results whose decision or status was looked at; `explicit` says that the code itself asks for None,
    or for the status.

    Args:
        judged: tells what is such a decision.
        only: results that were not decided; all of them when None.

    """

    def __init__(self, judged: Judged, only: Collection[str] | None = None) -> None:
        """Nothing is evaluated yet."""
        self._judged, self._only = judged, only
        self.seen: set[str] = set()
        self.explicit = False

    def value(self, node: cst.CSTNode, depth: int = 0) -> Any:  # noqa: C901, PLR0911 - one line a form
        """Return what an expression comes to: a constant, a tuple of them, or `UNKNOWN`.

        Raises:
            Raised: the expression raises.

        """
        if depth > _DEPTH:
            return _UNKNOWN
        if (known := self._known(node)) is not _UNKNOWN:
            return known
        match node:
            case cst.UnaryOperation(operator=cst.Not(), expression=inner):
                value = self.value(inner, depth + 1)
                return _UNKNOWN if isinstance(value, _Mark) else not value
            case cst.BooleanOperation():
                return self._boolean(node, depth)
            case cst.Comparison(left=left, comparisons=comparisons):
                return self._chain(left, comparisons, depth)
            case cst.IfExp(test=test, body=body, orelse=orelse):
                chosen = self.value(test, depth + 1)
                return _UNKNOWN if isinstance(chosen, _Mark) else self.value(body if chosen else orelse, depth + 1)
            case cst.BinaryOperation(left=left, operator=how, right=right):
                return self._number(self.value(left, depth + 1), how, self.value(right, depth + 1))
            case cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Set(elements=elements):
                return tuple(self.value(element.value, depth + 1) for element in elements)
            case cst.ListComp() | cst.SetComp() | cst.GeneratorExp():
                return self._comprehension(node, depth)
            case cst.Call():
                return self._call(node, depth)
            case cst.Attribute(value=owner) | cst.Subscript(value=owner) if self.value(owner, depth + 1) is None:
                raise Raised
            case cst.Name():
                return self._variable(node, depth)
        return _UNKNOWN

    def compared(self, left: Any, how: type[cst.BaseCompOp], right: Any) -> Any:  # noqa: PLR0911 - one line a form
        """Return what a comparison of two values comes to.

        Raises:
            Raised: the comparison raises.

        """
        if how in _NEGATED:
            found = self.compared(left, _NEGATED[how], right)
            return found if isinstance(found, _Mark) else not found
        if how is cst.In:
            return self._contains(right, left)
        if how in _ORDER:
            if left is None or right is None:
                raise Raised
            numbers = all(isinstance(one, (int, float)) for one in (left, right))
            return _ORDER[how](left, right) if numbers else _UNKNOWN
        if _STATUS in (left, right):
            return False if "decided" in (left, right) else _UNKNOWN
        if isinstance(left, _Mark) and isinstance(right, _Mark):
            return _UNKNOWN
        if isinstance(left, _Mark) or isinstance(right, _Mark):
            return False if None in (left, right) else _UNKNOWN
        return bool(left == right)

    def note_none(self, sides: Iterable[cst.CSTNode]) -> None:
        """Keep in mind whether None is asked for by its name, alone or among others: `in (None, "A")`."""
        named = (one for side in sides if not isinstance(side, cst.Call) for one in (side, *walk(side)))
        self.explicit = self.explicit or any(map(is_none, named))

    def _known(self, node: cst.CSTNode) -> Any:
        if (result := self._judged.decision(node)) is not None:
            if self._only is not None and result not in self._only:
                return _UNKNOWN
            self.seen.add(result)
            return None
        if (result := self._judged.status(node)) is not None:
            self.seen.add(result)
            self.explicit = True
            return _STATUS if self._only is None or result in self._only else _UNKNOWN
        constant = self._judged.view.value(node)
        return _UNKNOWN if constant is ... else constant

    def _boolean(self, node: cst.BooleanOperation, depth: int) -> Any:
        stops = isinstance(node.operator, cst.Or)
        left = self.value(node.left, depth + 1)
        if not isinstance(left, _Mark):
            return left if bool(left) is stops else self.value(node.right, depth + 1)
        try:
            right = self.value(node.right, depth + 1)
        except Raised:
            return _UNKNOWN
        return right if not isinstance(right, _Mark) and bool(right) is stops else _UNKNOWN

    def _chain(self, left: cst.BaseExpression, comparisons: Sequence[cst.ComparisonTarget], depth: int) -> Any:
        sides = [left, *(one.comparator for one in comparisons)]
        values = [self.value(one, depth + 1) for one in sides]
        self.note_none(sides)
        found: Any = True
        for place, one in enumerate(comparisons):
            step = self.compared(values[place], type(one.operator), values[place + 1])
            if step is False:
                return False
            found = _UNKNOWN if isinstance(step, _Mark) else found
        return found

    def _contains(self, container: Any, one: Any) -> Any:
        if container is None or (one is None and isinstance(container, str)):
            raise Raised
        if isinstance(container, str):
            return one in container if isinstance(one, str) else _UNKNOWN
        if not isinstance(container, tuple):
            return False if one is None else _UNKNOWN
        found = [self.compared(one, cst.Equal, each) for each in container]
        if True in found:
            return True
        return _UNKNOWN if any(isinstance(each, _Mark) for each in found) else False

    def _number(self, left: Any, how: cst.BaseBinaryOp, right: Any) -> Any:
        if left is None or right is None:
            raise Raised
        if left == 0 and isinstance(how, (cst.Divide, cst.Multiply)):
            return 0
        return _UNKNOWN

    def _comprehension(self, node: cst.ListComp | cst.SetComp | cst.GeneratorExp, depth: int) -> Any:
        """Return the one element that stands for all, or none where a filter leaves it out."""
        for one in node.for_in.ifs:
            kept = self.value(one.test, depth + 1)
            if not isinstance(kept, _Mark) and not kept:
                return ()
        return (self.value(node.elt, depth + 1),)

    def _call(self, node: cst.Call, depth: int) -> Any:
        name = last_name(node.func)
        given = [self.value(arg.value, depth + 1) for arg in node.args]
        if isinstance(node.func, cst.Attribute):
            return self._method(self.value(node.func.value, depth + 1), name, given)
        first = given[0] if given else _UNKNOWN
        if first is None and name in _NEEDS_A_VALUE:
            raise Raised
        if isinstance(first, tuple):
            return _of_several(name, first)
        if first is None and name in {"bool", "isinstance"}:
            return False
        return str(first) if first is None and name == "str" else _UNKNOWN

    def _method(self, owner: Any, name: str, given: Sequence[Any]) -> Any:
        if owner is None:
            raise Raised
        if name == "count" and isinstance(owner, tuple) and given:
            found = [self.compared(each, cst.Equal, given[0]) for each in owner]
            return _UNKNOWN if any(each is not False for each in found) else 0
        return _UNKNOWN

    def _variable(self, node: cst.Name, depth: int) -> Any:
        sources = self._judged.view.steps(node)
        added = self._judged.counted(node)
        if added and isinstance(sources[0], cst.Integer):
            return (
                _UNKNOWN if any(self._is_reached(one, depth) for one in added) else self._judged.view.value(sources[0])
            )
        if len(sources) != 1:
            return _UNKNOWN
        if isinstance(sources[0], cst.List) and not sources[0].elements:
            kept = [one for one in self._judged.appended(node) if self._is_reached(one, depth)]
            filled = bool(kept) or any(True for _ in self._judged.appended(node))
            return tuple(self.value(one, depth + 1) for one in kept) if filled else _UNKNOWN
        return self.value(sources[0], depth + 1)

    def _is_reached(self, node: cst.CSTNode, depth: int) -> bool:
        """Whether no `if` around a node keeps it from being run."""
        child = node
        for above in self._judged.view.above(node):
            if isinstance(above, (cst.FunctionDef, cst.ClassDef)):
                break
            if isinstance(above, cst.If) and child is not above.test:
                try:
                    found = self.value(above.test, depth + 1)
                except Raised:
                    return False
                if not isinstance(found, _Mark) and bool(found) is not (child is above.body):
                    return False
            child = above
        return True


def _of_several(name: str, given: tuple[Any, ...]) -> Any:
    """Return what a function makes of several values, of which one stands for all."""
    if name in {"list", "tuple", "set", "sorted"}:
        return given
    if name == "len":
        return _UNKNOWN if given else 0
    if name not in {"all", "any", "sum"} or any(isinstance(entry, _Mark) for entry in given):
        return _UNKNOWN
    if name == "sum":
        if None in given:
            raise Raised
        return _UNKNOWN if any(given) else 0
    return all(given) if name == "all" else any(given)
