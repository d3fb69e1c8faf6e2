"""Imports that nothing uses any more once a call is replaced."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from judgeharness_integrations.migration.rewriting.edits import Edit
from judgeharness_integrations.migration.rewriting.places import Places

__all__ = ["removed_imports"]


def removed_imports(places: Places, name: str, replaced: Collection[cst.Call]) -> list[Edit]:
    """Return the edits that take a name out of the `from` imports whose every use is a call that is replaced."""
    edits = []
    for statement in places.view.nodes:
        if not isinstance(statement, cst.ImportFrom) or isinstance(statement.names, cst.ImportStar):
            continue
        for place, alias in enumerate(statement.names):
            if isinstance(alias.name, cst.Name) and alias.name.value == name:
                funcs = {id(call.func) for call in replaced}
                if _used_only(places, statement, alias, funcs):
                    edits.append(_without(places, statement, place))
    return edits


def _used_only(places: Places, statement: cst.ImportFrom, alias: cst.ImportAlias, funcs: set[int]) -> bool:
    said = alias.asname.name if alias.asname is not None else alias.name
    scope = places.view.scope(statement)
    if scope is None or not isinstance(said, cst.Name):
        return False
    uses = [access.node for one in scope[said.value] for access in one.references]
    return bool(uses) and all(id(node) in funcs for node in uses)


def _without(places: Places, statement: cst.ImportFrom, place: int) -> Edit:
    """Return the edit that removes one of a statement's names, or the whole line where it is the only one."""
    names = tuple(statement.names) if not isinstance(statement.names, cst.ImportStar) else ()
    alias = names[place]
    if place + 1 < len(names):
        return Edit(start=places.start(alias.name), end=places.start(names[place + 1]))
    if place:
        return Edit(start=places.end(names[place - 1]), end=places.end(alias))
    start = places.line_start(places.start(statement))
    return Edit(start=start, end=places.line_end(places.end(statement)))
