"""The variable an expression ends up in."""

from __future__ import annotations

import libcst as cst

from judgeharness_integrations.migration.view import ModuleView, dotted

__all__ = ["bound_name"]

_AROUND = (cst.Await, cst.IfExp, cst.BooleanOperation, cst.Arg, cst.Call)


def bound_name(view: ModuleView, node: cst.CSTNode) -> str | None:
    """Return the variable or `self.` attribute an expression, or a call around it, is assigned to; None when none."""
    current: cst.CSTNode | None = view.parent(node)
    while isinstance(current, _AROUND):
        current = view.parent(current)
    match current:
        case cst.Assign(targets=[target, *_]):
            return dotted(target.target) or None
        case cst.AnnAssign(target=target) | cst.NamedExpr(target=target):
            return dotted(target) or None
    return None
