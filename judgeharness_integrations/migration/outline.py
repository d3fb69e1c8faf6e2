"""What a module binds and imports, read from its syntax alone: cheap enough for every file of a tree."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["Outline", "outline_of", "words_of"]

_LONGEST = 20_000  # characters of one name's words


@dataclass(frozen=True, kw_only=True)
class Outline:
    """The names of a module.

    Args:
        imports: name here -> full name there, with the dots of a relative import (`.common.make_judge`);
            `import a.b` is both `a` and `a.b`.
        stars: modules whose names are all imported.
        names: what is defined or assigned at the top of the module.
        methods: class at the top of the module -> the functions in it.
        read: every name and attribute that stands in it anywhere but in an import.
        called: the last names of what it calls.

    """

    imports: Mapping[str, str] = field(default_factory=dict)
    stars: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    methods: Mapping[str, frozenset[str]] = field(default_factory=dict)
    read: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()


def outline_of(text: str) -> Outline:
    """Return the outline of a Python text; one that cannot be parsed binds nothing."""
    module = _parsed(text)
    imports: dict[str, str] = {}
    stars: list[str] = []
    read: set[str] = set()
    called: set[str] = set()
    for node in ast.walk(module):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                read.add(name)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                called.add(name)
            case ast.Import(names=names):
                imports.update((one.asname or one.name.partition(".")[0], _bound(one)) for one in names)
                imports.update((one.name, one.name) for one in names if not one.asname)
            case ast.ImportFrom(names=names):
                home = "." * node.level + (node.module or "")
                stars += [home for one in names if one.name == "*"]
                base = home if home.endswith(".") else f"{home}."
                imports.update((one.asname or one.name, f"{base}{one.name}") for one in names if one.name != "*")
    bound = dict(_bindings(module.body))
    return Outline(
        imports=imports,
        stars=tuple(stars),
        names=frozenset(bound),
        methods={name: _methods(node) for name, node in bound.items() if isinstance(node, ast.ClassDef)},
        read=frozenset(read),
        called=frozenset(called),
    )


def words_of(text: str) -> Mapping[str, str]:
    """Return names of a module and the texts in what each is bound to."""
    return {name: "\n".join(_texts(node))[:_LONGEST] for name, node in dict(_bindings(_parsed(text).body)).items()}


def _parsed(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its string escapes
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


def _methods(owner: ast.ClassDef) -> frozenset[str]:
    functions = (one for one in ast.walk(owner) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return frozenset(one.name for one in functions)


def _bound(one: ast.alias) -> str:
    """`import a.b as c` binds the module `a.b`, `import a.b` the package `a`."""
    return one.name if one.asname else one.name.partition(".")[0]


def _bindings(body: list[ast.stmt]) -> Iterator[tuple[str, ast.AST]]:
    """Yield what is bound at the top of a module, also under `if` and `try`."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node
            case ast.Assign(targets=targets, value=value):
                named = (one for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))
                yield from ((one.id, value) for one in named)
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                yield name, value
            case ast.If(body=inner, orelse=other):
                yield from _bindings([*inner, *other])
            case ast.Try(body=inner, handlers=handlers, orelse=other):
                yield from _bindings([*inner, *(one for handler in handlers for one in handler.body), *other])


def _texts(node: ast.AST) -> Iterator[str]:
    return (one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str))
