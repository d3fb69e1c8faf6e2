"""Whether an expression is still the text a model answered."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["is_answer"]

_KEEPING = frozenset(
    {
        *(
            "strip",
            "lstrip",
            "rstrip",
            "lower",
            "upper",
            "casefold",
            "replace",
            "removeprefix",
            "removesuffix",
            "title",
        ),
        *("split", "splitlines", "rsplit", "partition", "rpartition", "join", "json", "model_dump", "get"),
    }
)
_STEPS = 200


def is_answer(view: ModuleView, node: cst.CSTNode, asks: Collection[cst.CSTNode | None]) -> bool:
    """Whether fields, places and string methods alone lie between a question and an expression; parsers end it."""
    waiting: list[cst.CSTNode] = [node]
    seen: set[cst.CSTNode] = set()
    while waiting and len(seen) < _STEPS:
        current = waiting.pop()
        if current in asks:
            return True
        if current in seen:
            continue
        seen.add(current)
        waiting.extend(_before(view, current))
    return False


def _before(view: ModuleView, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What an expression took its text from."""
    match node:
        case cst.Attribute(value=cst.Name(value="self")) | cst.Name():
            yield from view.steps(node)
        case cst.Attribute(value=owner) | cst.Subscript(value=owner) | cst.Await(expression=owner):
            yield owner
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=method))) if method in _KEEPING:
            yield owner
        case cst.Call(func=cst.Name(value="str"), args=[first, *_]):
            yield first.value
        case cst.BooleanOperation(left=left):
            yield left
        case cst.Call():
            yield from (result for function in view.callees(node) for result in view.results(function))
