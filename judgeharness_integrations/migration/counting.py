"""How many judges one call makes: in a comprehension or a loop it runs once for each element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from judgeharness_integrations.migration.repeating import loops_around
from judgeharness_integrations.migration.tree import walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["Made", "judges_made"]

_SAME_LENGTH = frozenset({"list", "tuple", "sorted", "enumerate", "reversed", "tqdm"})
_OF_A_DICT = frozenset({"items", "keys", "values"})


@dataclass(frozen=True, kw_only=True)
class Made:
    """How many judges a call makes; at least so many where it is not `exact`."""

    count: int = 1
    exact: bool = True


def judges_made(view: ModuleView, call: cst.Call) -> Made:
    """Return how many judges a call makes, by the literals that the loops around it run over.

    A loop counts where it makes a list or dict of judges, or where what it runs over is part of the judge: a judge
    that is made anew for each case is one judge.
    """
    count, exact = 1, True
    for loop in loops_around(view, call):
        if not _counts(loop, call):
            continue
        length = None if getattr(loop, "ifs", ()) else _length(view, getattr(loop, "iter", None))
        count, exact = count * (1 if length is None else length), exact and length is not None
    return Made(count=count, exact=exact)


def _counts(loop: cst.For | cst.While | cst.CompFor, call: cst.Call) -> bool:
    if isinstance(loop, cst.While):
        return False
    return isinstance(loop, cst.CompFor) or bool(_names([loop.target]) & _names(arg.value for arg in call.args))


def _names(nodes: Iterable[cst.CSTNode]) -> set[str]:
    return {one.value for node in nodes for one in (node, *walk(node)) if isinstance(one, cst.Name)}


def _length(view: ModuleView, node: cst.CSTNode | None) -> int | None:
    """Return how many elements an iterable has; None where only running the code tells."""
    lengths = {found for one in _literals(view, node) if (found := _literal_length(view, one)) is not None}
    return lengths.pop() if len(lengths) == 1 else None


def _literals(view: ModuleView, node: cst.CSTNode | None) -> Iterable[cst.CSTNode]:
    return () if node is None else view.origins(node)


def _literal_length(view: ModuleView, node: cst.CSTNode) -> int | None:
    match node:
        case cst.List(elements=inner) | cst.Tuple(elements=inner) | cst.Set(elements=inner):
            return None if any(isinstance(one, cst.StarredElement) for one in inner) else len(inner)
        case cst.Dict(elements=pairs):
            return None if any(isinstance(one, cst.StarredDictElement) for one in pairs) else len(pairs)
        case cst.Call(func=cst.Name(value="range"), args=args):
            bounds = [view.value(one.value) for one in args]
            return len(range(*bounds)) if bounds and all(isinstance(bound, int) for bound in bounds) else None
        case cst.Call(func=cst.Name(value=name), args=[first, *_]) if name in _SAME_LENGTH:
            return _length(view, first.value)
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=name)), args=[]) if name in _OF_A_DICT:
            return _length(view, owner)
    return None
