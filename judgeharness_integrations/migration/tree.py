"""Walks over a libcst tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import TypeAlias

import libcst as cst

__all__ = ["FunctionNode", "children", "dotted", "last_name", "walk"]

FunctionNode: TypeAlias = cst.FunctionDef | cst.Lambda
# fields of nodes that hold punctuation and white space
_SPACE = ("whitespace", "leading_", "lines_", "lpar", "rpar", "lbr", "rbr", "header", "footer", "semicolon", "comma")
_SIGNS = frozenset({"operator", "equal", "dot", "asynchronous", "colon", "indent", "newline", "trailing_whitespace"})


@cache
def _parts(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    names = (field.name for field in fields(kind))
    return tuple(name for name in names if not name.startswith(_SPACE) and name not in _SIGNS)


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """Return the nodes right below a node, punctuation, white space and comments left out.

    A visitor of libcst would take twenty times as long.
    """
    found: list[cst.CSTNode] = []
    for name in _parts(type(node)):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found.extend(one for one in value if isinstance(one, cst.CSTNode))
    return found


def walk(node: cst.CSTNode, *, stop: tuple[type[cst.CSTNode], ...] = ()) -> Iterator[cst.CSTNode]:
    """Yield the nodes below a node, those of one parent in the order of its fields; types in `stop` are not entered."""
    waiting = children(node)[::-1]
    while waiting:
        current = waiting.pop()
        yield current
        if not stop or not isinstance(current, stop):
            waiting += children(current)[::-1]


def last_name(node: cst.CSTNode) -> str:
    """Return `c` of `a.b.c`; an expression without a name gives an empty string."""
    match node:
        case cst.Attribute(attr=cst.Name(value=name)) | cst.Name(value=name):
            return name
    return ""


def dotted(node: cst.CSTNode | None) -> str:
    """Return `a.b.c` of names and attributes; other expressions give an empty part."""
    if isinstance(node, cst.Attribute):
        return f"{dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""
