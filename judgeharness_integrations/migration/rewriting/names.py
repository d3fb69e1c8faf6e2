"""Names a rewrite needs: those a file has already, and imports for the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import Assignment

from judgeharness_integrations.migration.rewriting.edits import Edit
from judgeharness_integrations.migration.rewriting.importing import import_edits
from judgeharness_integrations.migration.rewriting.places import Places
from judgeharness_integrations.migration.view import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Names", "Needed", "root_name"]


@dataclass(frozen=True, kw_only=True)
class Needed:
    """One import that is missing: `from module import name`, or `import module` without a name."""

    module: str
    name: str | None
    alias: str | None
    anchor: cst.CSTNode | None  # the import beside which it goes; None where the file has none

    @property
    def said(self) -> str:
        """The name as the file will have it."""
        return self.alias or self.name or self.module

    @property
    def statement(self) -> str:
        """The line to be written."""
        renamed = f" as {self.alias}" if self.alias else ""
        return (
            f"import {self.module}{renamed}" if self.name is None else f"from {self.module} import {self.name}{renamed}"
        )


@dataclass
class Names:
    """Gives each name as it is to be written at a place, and remembers the imports it takes."""

    places: Places
    needed: dict[tuple[str, str | None, cst.CSTNode | None], Needed] = field(default_factory=dict)

    def of(self, module: str, name: str | None, *, at: cst.CSTNode, beside: cst.CSTNode | None = None) -> str:
        """Return how a name of a module is written at a node.

        Args:
            module: where it is imported from.
            name: the name, None for the module itself.
            at: where it is used.
            beside: an expression there whose own import ours goes with; that of `at` by default.

        """
        anchor = self._anchor(at if beside is None else beside)
        function = None if anchor is None else self.places.view.function_of(anchor)
        known = self._known(module, name, function)
        if known is not None:
            return known
        key = (module, name, None if (module, name, None) in self.needed else function)
        held = self.needed.get(key)
        if held is not None and key[2] is not function:
            return held.said
        if held is None:
            word = name or module
            held = Needed(
                module=module,
                name=name,
                alias=self._free(word, module if name is None else f"{module}.{name}"),
                anchor=anchor,
            )
        elif anchor is not None and (held.anchor is None or self.places.start(anchor) < self.places.start(held.anchor)):
            held = Needed(module=module, name=name, alias=held.alias, anchor=anchor)
        self.needed[key] = held
        return held.said

    def is_local(self, node: cst.CSTNode) -> bool:
        """Whether what is called at a node is imported inside the function it stands in."""
        anchor = self._anchor(node)
        return anchor is not None and self.places.view.function_of(anchor) is not None

    def known(self, module: str, name: str, *, at: cst.CSTNode) -> str | None:
        """Return what a name is called at a node already, None where it is not imported there."""
        return self._known(module, name, self.places.view.function_of(at))

    def edits(self) -> list[Edit]:
        """Return the edits that import what was asked for."""
        return import_edits(
            self.places, [(one.statement, one.module, one.name, one.anchor) for one in self.needed.values()]
        )

    def _anchor(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the import statement that brings the first name of an expression, the first import where none does."""
        if isinstance(node, (cst.Import, cst.ImportFrom)):
            return node
        view, root = self.places.view, root_name(node)
        scope = None if root is None else view.scope(root)
        assigned = (
            [] if scope is None or root is None else [one for one in scope[root.value] if isinstance(one, Assignment)]
        )
        brought = [one.node for one in assigned if isinstance(one.node, (cst.Import, cst.ImportFrom))]
        return min(brought, key=self.places.start, default=None)

    def _known(self, module: str, name: str | None, function: cst.FunctionDef | None) -> str | None:
        """Return what the file calls a name already, at the top of the module or in that function."""
        full = module if name is None else f"{module}.{name}"
        for statement in self._imports:
            inside = self.places.view.function_of(statement)
            if (inside is not None and inside is not function) or self._conditional(statement):
                continue
            for word, said in _brought(statement):
                if word == full:
                    return said
                if isinstance(statement, cst.Import) and name is not None and word == module:
                    return f"{said}.{name}"
        return None

    def _conditional(self, statement: cst.CSTNode) -> bool:
        """Whether an import may not have run: `if TYPE_CHECKING`, `try`, a class body."""
        above = (one for one in self.places.view.above(statement) if not isinstance(one, cst.FunctionDef))
        return any(isinstance(one, (cst.If, cst.Try, cst.ClassDef)) for one in above)

    @cached_property
    def _imports(self) -> tuple[cst.Import | cst.ImportFrom, ...]:
        return tuple(one for one in self.places.view.nodes if isinstance(one, (cst.Import, cst.ImportFrom)))

    @cached_property
    def _taken(self) -> frozenset[str]:
        return frozenset(one.value for one in self.places.view.nodes if isinstance(one, cst.Name))

    def _free(self, word: str, full: str) -> str | None:
        """Return the alias a name needs, None where the file does not use it, or for the same thing elsewhere."""
        if (full, word) in {found for statement in self._imports for found in _brought(statement)}:
            return None
        alias = word
        while alias in self._taken:
            alias += "_"
        return None if alias == word else alias


def root_name(node: cst.CSTNode) -> cst.Name | None:
    """Return the first name of `a.b(...)`."""
    while True:
        match node:
            case cst.Name():
                return node
            case cst.Attribute(value=inner) | cst.Call(func=inner):
                node = inner
            case _:
                return None


def _brought(statement: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield the full name and the local one of everything a statement imports."""
    if isinstance(statement.names, cst.ImportStar):
        return
    prefix = ""
    if isinstance(statement, cst.ImportFrom):
        if statement.relative:
            return
        prefix = f"{dotted(statement.module)}."
    for one in statement.names:
        word = dotted(one.name)
        said = one.asname.name.value if one.asname is not None and isinstance(one.asname.name, cst.Name) else word
        yield prefix + word, said
