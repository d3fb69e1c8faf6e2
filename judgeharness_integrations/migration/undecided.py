"""What an expression comes to when a judge decided nothing, and its value and score are None."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import libcst as cst

from judgeharness_integrations.migration.judged import Judged
from judgeharness_integrations.migration.tree import last_name, walk

__all__ = ["UNKNOWN", "Raised", "Undecided"]


class _Mark:
    """A value that is known by its name alone."""


UNKNOWN: Final = _Mark()  # something, and not None
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
            return UNKNOWN
        if (known := self._known(node)) is not UNKNOWN:
            return known
        match node:
            case cst.UnaryOperation(operator=cst.Not(), expression=inner):
                value = self.value(inner, depth + 1)
                return UNKNOWN if isinstance(value, _Mark) else not value
            case cst.BooleanOperation():
                return self._boolean(node, depth)
            case cst.Comparison(left=left, comparisons=comparisons):
                return self._chain(left, comparisons, depth)
            case cst.IfExp(test=test, body=body, orelse=orelse):
                chosen = self.value(test, depth + 1)
                return UNKNOWN if isinstance(chosen, _Mark) else self.value(body if chosen else orelse, depth + 1)
            case cst.BinaryOperation(left=left, operator=how, right=right):
                return self._number(self.value(left, depth + 1), how, self.value(right, depth + 1))
            case cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Set(elements=elements):
                return tuple(self.value(one.value, depth + 1) for one in elements)
            case cst.ListComp() | cst.SetComp() | cst.GeneratorExp():
                return self._comprehension(node, depth)
            case cst.Call():
                return self._call(node, depth)
            case cst.Attribute(value=owner) | cst.Subscript(value=owner) if self.value(owner, depth + 1) is None:
                raise Raised
            case cst.Name():
                return self._variable(node, depth)
        return UNKNOWN

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
            return _ORDER[how](left, right) if numbers else UNKNOWN
        if _STATUS in (left, right):
            return False if "decided" in (left, right) else UNKNOWN
        if isinstance(left, _Mark) and isinstance(right, _Mark):
            return UNKNOWN
        if isinstance(left, _Mark) or isinstance(right, _Mark):
            return False if None in (left, right) else UNKNOWN
        return bool(left == right)

    def note_none(self, sides: Iterable[cst.CSTNode]) -> None:
        """Keep in mind whether None is asked for by its name, alone or among others: `in (None, "A")`."""
        named = (one for side in sides if not isinstance(side, cst.Call) for one in (side, *walk(side)))
        self.explicit = self.explicit or any(isinstance(one, cst.Name) and one.value == "None" for one in named)

    def _known(self, node: cst.CSTNode) -> Any:
        if (result := self._judged.decision(node)) is not None:
            if self._only is not None and result not in self._only:
                return UNKNOWN
            self.seen.add(result)
            return None
        if (result := self._judged.status(node)) is not None:
            self.seen.add(result)
            self.explicit = True
            return _STATUS if self._only is None or result in self._only else UNKNOWN
        constant = self._judged.view.value(node)
        return UNKNOWN if constant is ... else constant

    def _boolean(self, node: cst.BooleanOperation, depth: int) -> Any:
        stops = isinstance(node.operator, cst.Or)
        left = self.value(node.left, depth + 1)
        if not isinstance(left, _Mark):
            return left if bool(left) is stops else self.value(node.right, depth + 1)
        try:
            right = self.value(node.right, depth + 1)
        except Raised:
            return UNKNOWN
        return right if not isinstance(right, _Mark) and bool(right) is stops else UNKNOWN

    def _chain(self, left: cst.BaseExpression, comparisons: Sequence[cst.ComparisonTarget], depth: int) -> Any:
        sides = [left, *(one.comparator for one in comparisons)]
        values = [self.value(one, depth + 1) for one in sides]
        self.note_none(sides)
        found: Any = True
        for place, one in enumerate(comparisons):
            step = self.compared(values[place], type(one.operator), values[place + 1])
            if step is False:
                return False
            found = UNKNOWN if isinstance(step, _Mark) else found
        return found

    def _contains(self, container: Any, one: Any) -> Any:
        if container is None or (one is None and isinstance(container, str)):
            raise Raised
        if isinstance(container, str):
            return one in container if isinstance(one, str) else UNKNOWN
        if not isinstance(container, tuple):
            return False if one is None else UNKNOWN
        found = [self.compared(one, cst.Equal, each) for each in container]
        if True in found:
            return True
        return UNKNOWN if any(isinstance(each, _Mark) for each in found) else False

    def _number(self, left: Any, how: cst.BaseBinaryOp, right: Any) -> Any:
        if left is None or right is None:
            raise Raised
        if left == 0 and isinstance(how, (cst.Divide, cst.Multiply)):
            return 0
        return UNKNOWN

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
        first = given[0] if given else UNKNOWN
        if first is None and name in _NEEDS_A_VALUE:
            raise Raised
        if isinstance(first, tuple):
            return _folded(name, first)
        if first is None and name in {"bool", "isinstance"}:
            return False
        return str(first) if first is None and name == "str" else UNKNOWN

    def _method(self, owner: Any, name: str, given: Sequence[Any]) -> Any:
        if owner is None:
            raise Raised
        if name == "count" and isinstance(owner, tuple) and given:
            found = [self.compared(each, cst.Equal, given[0]) for each in owner]
            return UNKNOWN if any(each is not False for each in found) else 0
        return UNKNOWN

    def _variable(self, node: cst.Name, depth: int) -> Any:
        sources = self._judged.view.steps(node)
        added = self._judged.counted(node)
        if added and isinstance(sources[0], cst.Integer):
            return (
                UNKNOWN if any(self._is_reached(one, depth) for one in added) else self._judged.view.value(sources[0])
            )
        if len(sources) != 1:
            return UNKNOWN
        if isinstance(sources[0], cst.List) and not sources[0].elements:
            kept = [one for one in self._judged.appended(node) if self._is_reached(one, depth)]
            filled = bool(kept) or any(True for _ in self._judged.appended(node))
            return tuple(self.value(one, depth + 1) for one in kept) if filled else UNKNOWN
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


def _folded(name: str, given: tuple[Any, ...]) -> Any:
    """Return what a function makes of several values, of which one stands for all."""
    if name in {"list", "tuple", "set", "sorted"}:
        return given
    if name == "len":
        return UNKNOWN if given else 0
    if name not in {"all", "any", "sum"} or any(isinstance(one, _Mark) for one in given):
        return UNKNOWN
    if name == "sum":
        if None in given:
            raise Raised
        return UNKNOWN if any(given) else 0
    return all(given) if name == "all" else any(given)
