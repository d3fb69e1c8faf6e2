"""Where new import lines go: beside the import they belong with, in order, and never before `__future__`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import libcst as cst

from judgeharness_integrations.migration.rewriting.edits import Edit, insertion
from judgeharness_integrations.migration.rewriting.places import Places
from judgeharness_integrations.migration.tree import last_name, walk
from judgeharness_integrations.migration.view import dotted

__all__ = ["Wanted", "import_edits", "leading_imports"]

# statement, module, name (None for `import module`), the import it goes with
Wanted: TypeAlias = tuple[str, str, str | None, cst.CSTNode | None]
_FUTURE = "__future__"
_ADAPTERS, _CORE = "judgeharness_", "judgeharness_integrations"


def import_edits(places: Places, wanted: Iterable[Wanted]) -> list[Edit]:
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
    return any(isinstance(one, ends) or _leaves(one) for one in walk(branch))


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
