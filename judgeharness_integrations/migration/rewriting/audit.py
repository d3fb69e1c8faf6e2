"""What the code does with a judge that a harnessed one could not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["foreign_attribute", "in_format_string"]

# what a harnessed LangChain evaluator has; chains have more
_KEPT = frozenset(
    {
        *("evaluate_strings", "aevaluate_strings", "evaluate_string_pairs", "aevaluate_string_pairs"),
        *("requires_input", "requires_reference", "evaluation_name"),
    }
)


def foreign_attribute(view: ModuleView, node: cst.CSTNode) -> str | None:
    """Return the first attribute the code asks of a LangChain evaluator and a harnessed one lacks, as `evaluate` is.

    Args:
        view: the module.
        node: the call that makes the evaluator; variables, fixtures and functions that hand it on are followed.

    """
    for asked in view.nodes:
        match asked:
            case cst.Attribute(value=owner, attr=cst.Name(value=name)) if name not in _KEPT:
                if _may_be(view, owner, node):
                    return f".{name}"
            case cst.Call(func=cst.Name(value="isinstance"), args=[cst.Arg(value=tested), *_]):
                if _may_be(view, tested, node):
                    return "class (isinstance)"
            case cst.Call(func=func) if _may_be(view, func, node):
                return "call operator"
            case cst.BinaryOperation(left=left, operator=cst.BitOr(), right=right):
                if _may_be(view, left, node) or _may_be(view, right, node):
                    return "| operator"
    return None


def _may_be(view: ModuleView, expression: cst.CSTNode, node: cst.CSTNode) -> bool:
    return any(origin is node for origin in view.origins(expression))


def in_format_string(view: ModuleView, node: cst.CSTNode) -> bool:
    """Whether an expression stands inside an f-string, whose quotation marks ours could close."""
    return any(isinstance(above, cst.FormattedString) for above in view.above(node))
