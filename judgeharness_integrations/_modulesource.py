"""The statements at the top of a module, by the names they bind or change; nothing of it is run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from symtable import SymbolTable, symtable
from typing import NamedTuple, TypeAlias

__all__ = ["Needed", "Statement", "UnreadableError", "bindings", "needed"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DECIDE_NOTHING = frozenset({"logging", "warnings"})  # calls of theirs say nothing of how a function answers


class UnreadableError(Exception):
    """Why nobody can know a function again."""


class Statement(NamedTuple):
    """A statement at the top of a module.

    `uses` are the names of the module it reads, `reads` the dotted ones, `decorators` those its decorators use, and
    `changes` those that functions in it declare `global` and bind.
    """

    text: str
    imports: bool
    lines: range
    uses: frozenset[str]
    reads: frozenset[tuple[str, ...]]
    decorators: frozenset[str]
    changes: frozenset[str]


class Needed(NamedTuple):
    """What some names of a module depend on: names, texts of their statements, dotted names, names they change."""

    names: tuple[str, ...]
    texts: tuple[str, ...]
    reads: tuple[tuple[str, ...], ...]
    changed: frozenset[str]


Bindings: TypeAlias = Mapping[str, tuple[Statement, ...]]


@lru_cache(maxsize=1024)
def needed(names: frozenset[str], reads: frozenset[tuple[str, ...]], source: str, *, main: bool) -> Needed:
    """Return what names of a module depend on, through the statements that bind or change them."""
    here, known, found = bindings(source, main=main), set[str](), set(names)
    while found:
        known |= found
        found = {used for name in found for one in here.get(name, ()) for used in one.uses} - known
    ordered = tuple(sorted(known))
    statements = [one for name in ordered for one in here.get(name, ())]
    return Needed(
        ordered,
        tuple(one.text for one in statements),
        tuple(sorted(reads.union(*(one.reads for one in statements)))),
        frozenset[str]().union(*(one.changes for one in statements)),
    )


@lru_cache(maxsize=64)
def bindings(source: str, *, main: bool) -> Bindings:
    """Return name -> the statements at the top of a module that bind or change it; under "" all that hold `global`.

    What a module does as a script is no part of it unless it is the `main` one.

    Raises:
        UnreadableError: it cannot be parsed.

    """
    found = dict[str, tuple[Statement, ...]]()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the module's own, which were said when it was imported
            for names, statement in _statements(source, main=main):
                for name in sorted(names):
                    found[name] = (*found.get(name, ()), statement)
    except (SyntaxError, ValueError, RecursionError):
        raise UnreadableError("the source of its module cannot be read") from None
    return found


def _statements(source: str, *, main: bool) -> Iterator[tuple[set[str], Statement]]:
    lines = source.encode(errors="surrogatepass").split(b"\n")
    for node in ast.parse(source).body:
        if not main and _is_script(node):
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                one = (
                    ast.Import([alias])
                    if isinstance(node, ast.Import)
                    else ast.ImportFrom(node.module, [alias], node.level)
                )
                yield _statement(one, ast.unparse(one), range(0))
        else:
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            text = lines[first - 1 : node.end_lineno]
            text[-1] = text[-1][: node.end_col_offset]
            text[0] = text[0][node.col_offset :]  # a decorated one begins its line
            span = range(first, (node.end_lineno or first) + 1)
            yield _statement(node, b"\n".join(text).decode(errors="surrogatepass"), span)


def _statement(node: ast.stmt, text: str, lines: range) -> tuple[set[str], Statement]:
    table = symtable(text, "", "exec")
    bound = {one.get_name() for one in table.get_symbols() if one.is_assigned() or one.is_imported()}
    changes = frozenset(_declared_global(table))
    decorators = {
        name.id
        for defined in ast.walk(node)
        for one in getattr(defined, "decorator_list", ())
        for name in ast.walk(one)
        if isinstance(name, ast.Name)
    }
    statement = Statement(
        text=text,
        imports=isinstance(node, (ast.Import, ast.ImportFrom)),
        lines=lines,
        uses=frozenset(_used(table)),
        reads=frozenset(path for one in ast.walk(node) if len(path := _path(one)) > 1),
        decorators=frozenset(decorators),
        changes=changes,
    )
    return bound | set(_changed(node)) | ({""} if changes else set()), statement


def _is_script(node: ast.stmt) -> bool:
    """Whether it is `if __name__ == "__main__":`."""
    return (
        isinstance(node, ast.If)
        and not node.orelse
        and ast.unparse(node.test)
        in {
            "__name__ == '__main__'",
            "'__main__' == __name__",
        }
    )


def _used(table: SymbolTable) -> Iterator[str]:
    """Yield the names of the module that a statement reads, in the functions it defines, too."""
    top = table.get_type() == "module"
    yield from (one.get_name() for one in table.get_symbols() if one.is_referenced() and (top or one.is_global()))
    for inner in table.get_children():
        yield from _used(inner)


def _declared_global(table: SymbolTable) -> Iterator[str]:
    yield from (one.get_name() for one in table.get_symbols() if one.is_declared_global() and one.is_assigned())
    for inner in table.get_children():
        yield from _declared_global(inner)


def _changed(node: ast.AST) -> Iterator[str]:
    """Yield the names whose objects a statement changes: `N.a = 1`, `N["a"] = 1`, `N.append(1)`."""
    if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
        yield from _root(node)
    elif isinstance(node, ast.Expr):
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(call, ast.Call) and isinstance(call.func, (ast.Attribute, ast.Subscript)):
            yield from (name for name in _root(call.func) if name not in _DECIDE_NOTHING)
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, _FUNCTIONS):
            yield from _changed(inner)


def _root(node: ast.expr) -> Iterator[str]:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        yield node.id


def _path(node: ast.AST) -> tuple[str, ...]:
    """Return the names of a dotted one; none for anything else."""
    names = list[str]()
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()
