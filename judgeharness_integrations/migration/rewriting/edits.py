"""Edits of a Python file's text: where nodes stand in it, names and imports it needs and no longer needs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import libcst as cst
from libcst.metadata import Assignment

from ..modules import Source
from ..syntax import dotted, last_name, walk


@dataclass(frozen=True, kw_only=True, order=True)
class Edit:
    """`text` in the place of the characters from `start` to `end` (0-based, `end` excluded).

    Of several insertions at one place the one of the lowest `rank` stands first.
    """

    start: int
    end: int
    rank: int = 0
    text: str = ""


def insertion(place: int, text: str, *, rank: int = 0) -> Edit:
    """Return the edit that puts `text` before the character at `place`."""
    return Edit(start=place, end=place, text=text, rank=rank)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits made.

    Raises:
        ValueError: two of them overlap.

    """
    parts, done = [], 0
    for edit in sorted(edits):
        if edit.start < done:
            raise ValueError(f"two edits overlap at character {edit.start}.")
        parts += [text[done : edit.start], edit.text]
        done = edit.end
    return "".join([*parts, text[done:]])


_NEWLINE = re.compile(r"\r\n|\r|\n")  # what ends a line for Python, and nothing else


class Places:
    """Character positions in one file."""

    def __init__(self, source: Source) -> None:
        """Index the lines."""
        self.text = source.text
        self.view = source.view
        self._starts = [0, *(found.end() for found in _NEWLINE.finditer(source.text))]

    @cached_property
    def newline(self) -> str:
        """The line ending of the file: its first one."""
        found = _NEWLINE.search(self.text)
        return found[0] if found else "\n"

    def start(self, node: cst.CSTNode) -> int:
        """Return where a node begins, parentheses of its own left out."""
        begin = self.view.position(node).start
        return self._starts[begin.line - 1] + begin.column

    def end(self, node: cst.CSTNode) -> int:
        """Return the place behind a node."""
        end = self.view.position(node).end
        return self._starts[end.line - 1] + end.column

    def of(self, node: cst.CSTNode) -> str:
        """Return a node's text."""
        return self.text[self.start(node) : self.end(node)]

    def line(self, node: cst.CSTNode) -> int:
        """Return the line a node begins in, from 1."""
        return int(self.view.position(node).start.line)

    def line_start(self, place: int) -> int:
        """Return where the line of a place begins."""
        return max(start for start in self._starts if start <= place)

    def line_end(self, place: int) -> int:
        """Return where the line after that of a place begins; the end of the text where there is none."""
        return next((start for start in self._starts if start > place), len(self.text))

    def indent(self, place: int) -> str:
        """Return the blank characters the line of a place begins with."""
        start = self.line_start(place)
        line = self.text[start : self.line_end(place)]
        return line[: len(line) - len(line.lstrip(" \t\f"))]


@dataclass(frozen=True, kw_only=True)
class Needed:
    """One import that is missing: `from module import name`, or `import module` without a name."""

    module: str
    name: str | None
    alias: str | None
    anchor: cst.CSTNode | None  # the import beside which it goes; None where the file has none

    @property
    def local_name(self) -> str:
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
            return held.local_name
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
        return held.local_name

    def is_local(self, node: cst.CSTNode) -> bool:
        """Whether what is called at a node is imported inside the function it stands in."""
        anchor = self._anchor(node)
        return anchor is not None and self.places.view.function_of(anchor) is not None

    def known(self, module: str, name: str, *, at: cst.CSTNode) -> str | None:
        """Return what a name is called at a node already, None where it is not imported there."""
        return self._known(module, name, self.places.view.function_of(at))

    def edits(self) -> list[Edit]:
        """Return the edits that import what was asked for."""
        return _import_edits(
            self.places, [(one.statement, one.module, one.name, one.anchor) for one in self.needed.values()]
        )

    def _anchor(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the import statement that brings the first name of an expression, the first import where none does."""
        if isinstance(node, (cst.Import, cst.ImportFrom)):
            return node
        view, root = self.places.view, _root_name(node)
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
            for word, local_name in _brought(statement):
                if word == full:
                    return local_name
                if isinstance(statement, cst.Import) and name is not None and word == module:
                    return f"{local_name}.{name}"
        return None

    def _conditional(self, statement: cst.CSTNode) -> bool:
        """Whether an import may not have run: `if TYPE_CHECKING`, `try`, a class body."""
        above = (node for node in self.places.view.above(statement) if not isinstance(node, cst.FunctionDef))
        return any(isinstance(node, (cst.If, cst.Try, cst.ClassDef)) for node in above)

    @cached_property
    def _imports(self) -> tuple[cst.Import | cst.ImportFrom, ...]:
        return tuple(node for node in self.places.view.nodes if isinstance(node, (cst.Import, cst.ImportFrom)))

    @cached_property
    def _taken(self) -> frozenset[str]:
        return frozenset(node.value for node in self.places.view.nodes if isinstance(node, cst.Name))

    def _free(self, word: str, full: str) -> str | None:
        """Return the alias a name needs, None where the file does not use it, or for the same thing elsewhere."""
        if (full, word) in {found for statement in self._imports for found in _brought(statement)}:
            return None
        alias = word
        while alias in self._taken:
            alias += "_"
        return None if alias == word else alias


def _root_name(node: cst.CSTNode) -> cst.Name | None:
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
        local_name = one.asname.name.value if one.asname is not None and isinstance(one.asname.name, cst.Name) else word
        yield prefix + word, local_name


# statement, module, name (None for `import module`), the import it goes with
Wanted: TypeAlias = tuple[str, str, str | None, cst.CSTNode | None]
_FUTURE = "__future__"
_ADAPTERS, _CORE = "judgeharness_", "judgeharness_integrations"


def _import_edits(places: Places, wanted: Iterable[Wanted]) -> list[Edit]:
    """Return the edits that write import lines, those of one place sorted by module.

    A line goes into the block of imports its anchor stands in: into that of the module, or of a function that imports
    its framework for itself. Without an anchor, or with one inside `if` or `try`, it goes behind the imports the
    module begins with; but where the code does without the framework when it is not installed, an adapter of ours,
    which needs it, goes directly behind it.
    """
    ordered = sorted(wanted, key=lambda one: (one[2] is not None, one[1], one[2] or ""))
    return [_edit(places, one, rank) for rank, one in enumerate(ordered)]


def _edit(places: Places, wanted: Wanted, rank: int) -> Edit:
    statement, module, name, anchor = wanted
    line = None if anchor is None else places.view.parent(anchor)
    if line is not None and module.startswith(_ADAPTERS) and module != _CORE and _is_optional(places, line):
        return _behind(places, line, statement, rank)
    block = _block_of(places, anchor)
    if not block:
        return _first_of_file(places, statement, rank)
    before, after = _neighbour(block, module, plain=name is None)
    if before is not None:
        start = places.line_start(places.start(before))
        return insertion(start, f"{places.indent(start)}{statement}{places.newline}", rank=rank)
    return _behind(places, after, statement, rank)


def _is_optional(places: Places, line: cst.CSTNode) -> bool:
    """Whether a line stands in a `try` or `if` whose other branches go on without importing anything in its place."""
    block = places.view.parent(line)
    match None if block is None else places.view.parent(block):
        case cst.Try(body=body, handlers=others) if body is block:
            return bool(others) and not any(_imports_or_ends(one) for one in others)
        case cst.If(test=test, body=body, orelse=other) if body is block and "TYPE_CHECKING" not in places.of(test):
            return other is None or not _imports_or_ends(other)
    return False


def _imports_or_ends(branch: cst.CSTNode) -> bool:
    ends = (cst.Import, cst.ImportFrom, cst.Raise)
    return any(isinstance(node, ends) or _leaves(node) for node in walk(branch))


def _leaves(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and last_name(node.func) in {"exit", "_exit", "skip", "importorskip"}


def _behind(places: Places, line: cst.CSTNode, statement: str, rank: int) -> Edit:
    end = places.line_end(places.end(line))
    text = f"{places.indent(places.start(line))}{statement}"
    if end == len(places.text) and not places.text.endswith(("\n", "\r")):
        return insertion(end, f"{places.newline}{text}", rank=rank)
    return insertion(end, f"{text}{places.newline}", rank=rank)


def _neighbour(
    block: Sequence[cst.SimpleStatementLine], module: str, *, plain: bool
) -> tuple[cst.SimpleStatementLine | None, cst.SimpleStatementLine]:
    """Return the line a new one goes before, or None and the line it goes behind.

    `import a` stands before `from a import b`, each sorted by module.
    """
    key = (not plain, module.lower())
    below = [line for line in block if _key(line) < key or _key(line)[1] == _FUTURE]
    if below:
        return None, below[-1]
    first = block[0]
    return (None, first) if first.leading_lines and any(one.comment for one in first.leading_lines) else (first, first)


def _key(line: cst.SimpleStatementLine) -> tuple[bool, str]:
    first = line.body[0]
    if isinstance(first, cst.ImportFrom):
        return True, ("." * len(first.relative) + dotted(first.module)).lower()
    return False, dotted(first.names[0].name).lower() if isinstance(first, cst.Import) else ""


def _block_of(places: Places, anchor: cst.CSTNode | None) -> list[cst.SimpleStatementLine]:
    """Return the lines of imports without a blank line between them that an anchor stands in."""
    line = None if anchor is None else places.view.parent(anchor)
    holder = None if line is None else places.view.parent(line)
    function = None if anchor is None else places.view.function_of(anchor)
    if isinstance(holder, (cst.Module, cst.IndentedBlock)) and isinstance(line, cst.SimpleStatementLine):
        around = places.view.parent(holder)
        if isinstance(holder, cst.Module) or isinstance(around, cst.FunctionDef):
            return _run(holder.body, line)
    if (
        function is not None
        and isinstance(function.body, cst.IndentedBlock)
        and isinstance(line, cst.SimpleStatementLine)
    ):
        return [line]  # inside `with` or `try` of a function: directly behind it
    leading = leading_imports(places.view.module)
    if line is not None:  # an import in `if` or `try`: not behind code that needs it
        leading = [one for one in leading if places.start(one) < places.start(line)] or leading[:1]
    return _run(places.view.module.body, leading[-1]) if leading else []


def _run(body: Sequence[cst.CSTNode], line: cst.SimpleStatementLine) -> list[cst.SimpleStatementLine]:
    here = next(place for place, one in enumerate(body) if one is line)
    start = end = here
    while start > 0 and _adjacent(body[start]) and _is_import(body[start - 1]):
        start -= 1
    while end + 1 < len(body) and _is_import(body[end + 1]) and _adjacent(body[end + 1]):
        end += 1
    return [one for one in body[start : end + 1] if isinstance(one, cst.SimpleStatementLine)]


def _adjacent(line: cst.CSTNode) -> bool:
    """Whether no blank line separates a line from the one above it."""
    return isinstance(line, cst.SimpleStatementLine) and all(one.comment for one in line.leading_lines)


def _is_import(line: cst.CSTNode) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and all(
        isinstance(one, (cst.Import, cst.ImportFrom)) for one in line.body
    )


def leading_imports(module: cst.Module) -> list[cst.SimpleStatementLine]:
    """Return the import lines before the first function or class of a module."""
    found = []
    for line in module.body:
        if isinstance(line, (cst.FunctionDef, cst.ClassDef)):
            break
        if isinstance(line, cst.SimpleStatementLine) and _is_import(line):
            found.append(line)
    return found


def _first_of_file(places: Places, statement: str, rank: int) -> Edit:
    """Return the edit for a file without an import at its top: behind its docstring, before everything else."""
    body = places.view.module.body
    first = body[0]
    if isinstance(first, cst.SimpleStatementLine) and _is_docstring(first):
        end = places.line_end(places.end(first))
        lead = places.newline if rank == 0 else ""
        gap = "" if places.text[end - 1 : end] in {"\n", "\r"} else places.newline
        return insertion(end, f"{gap}{lead}{statement}{places.newline}", rank=rank)
    return insertion(places.line_start(places.start(first)), f"{statement}{places.newline}", rank=rank)


def _is_docstring(line: cst.SimpleStatementLine) -> bool:
    first = line.body[0]
    return isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString))


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
    local_name = alias.asname.name if alias.asname is not None else alias.name
    scope = places.view.scope(statement)
    if scope is None or not isinstance(local_name, cst.Name):
        return False
    uses = [access.node for one in scope[local_name.value] for access in one.references]
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
