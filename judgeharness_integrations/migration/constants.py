"""Constants of a module: numbers and texts where they stand, and the words a piece of code can put into a prompt."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import libcst as cst

from judgeharness_integrations.migration.tree import children

if TYPE_CHECKING:
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["constant", "string_of", "texts_below"]


def constant(view: ModuleView, node: cst.CSTNode | None) -> Any:
    """Return the string, number, bool or None an expression is, following names bound once; else `...`."""
    if node is None:
        return ...
    plain = _literal(node)
    if plain is not ...:
        return plain
    if isinstance(node, cst.Name):
        found = [one for one in view.origins(node) if one is not node]
        literals = [_literal(one) for one in found if not isinstance(one, cst.Name) or _literal(one) is not ...]
        values = {repr(one): one for one in literals}
        return next(iter(values.values())) if len(values) == 1 else ...
    return ...


def _literal(node: cst.CSTNode) -> Any:
    match node:
        case cst.SimpleString() | cst.ConcatenatedString() | cst.FormattedString():
            return string_of(node) if not isinstance(node, cst.FormattedString) else ...
        case cst.Integer(value=digits) | cst.Float(value=digits):
            return ast.literal_eval(digits)
        case cst.Name(value="True" | "False" | "None" as word):
            return {"True": True, "False": False, "None": None}[word]
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer() | cst.Float() as inner):
            return -_literal(inner)
    return ...


def string_of(node: cst.CSTNode) -> str:
    """Return the text of a string literal, the fixed parts of an f-string, joined literals; empty for others."""
    match node:
        case cst.SimpleString():
            value = node.evaluated_value
            return value if isinstance(value, str) else ""
        case cst.FormattedString(parts=parts):
            texts = (one.value if isinstance(one, cst.FormattedStringText) else "{}" for one in parts)
            return "".join(texts).replace("\\n", "\n").replace("\\t", "\t")
        case cst.ConcatenatedString(left=left, right=right):
            return string_of(left) + string_of(right)
    return ""


def texts_below(node: cst.CSTNode) -> Iterator[str]:
    """Yield the texts of the string literals below a node, docstrings and nested definitions left out."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)):
            yield string_of(current)
            continue
        if isinstance(current, cst.SimpleStatementLine) and _is_docstring(current):
            continue
        waiting.extend(reversed(children(current)))


def _is_docstring(line: cst.SimpleStatementLine) -> bool:
    return len(line.body) == 1 and isinstance(line.body[0], cst.Expr) and bool(string_of(line.body[0].value))
