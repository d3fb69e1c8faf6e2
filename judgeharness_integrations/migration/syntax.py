"""A module's syntax, indexed and walked, and where in it a judge stands."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

import libcst as cst
from libcst.metadata import Assignment, CodeRange, MetadataWrapper, PositionProvider, Scope, ScopeProvider


class ModuleIndex:
    """One parsed module, indexed; every method takes nodes of its tree."""

    def __init__(self, wrapper: MetadataWrapper) -> None:
        """Index the tree once."""
        self.wrapper = wrapper
        self.module = wrapper.module
        self._scopes = wrapper.resolve(ScopeProvider)
        self._fields: dict[cst.ClassDef, dict[str, list[cst.CSTNode]]] = {}
        self._results: dict[cst.FunctionDef, tuple[cst.BaseExpression, ...]] = {}
        nodes = tuple(walk(self.module))
        self.nodes = nodes
        self._parents = {below: node for node in (self.module, *nodes) for below in children(node)}
        self.calls = tuple(node for node in nodes if isinstance(node, cst.Call))
        self.functions = tuple(node for node in nodes if isinstance(node, cst.FunctionDef))
        self.classes = tuple(node for node in nodes if isinstance(node, cst.ClassDef))

    @cached_property
    def _positions(self) -> Any:
        return self.wrapper.resolve(PositionProvider)

    @cached_property
    def star_modules(self) -> tuple[str, ...]:
        """Modules whose names are imported with `*`."""
        return tuple(
            "." * len(node.relative) + dotted(node.module)
            for node in self.nodes
            if isinstance(node, cst.ImportFrom) and isinstance(node.names, cst.ImportStar) and node.module is not None
        )

    def position(self, node: cst.CSTNode) -> CodeRange:
        """Where a node stands; lines from 1, columns from 0."""
        found: CodeRange = self._positions[node]
        return found

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node around a node."""
        return self._parents.get(node)

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Nodes around a node, from the inside out."""
        current = self.parent(node)
        while current is not None:
            yield current
            current = self.parent(current)

    def is_label(self, node: cst.Name) -> bool:
        """Whether a name node is the field of an attribute or the keyword of an argument, no variable."""
        parent = self.parent(node)
        return (isinstance(parent, cst.Attribute) and parent.attr is node) or (
            isinstance(parent, cst.Arg) and parent.keyword is node
        )

    def function_of(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The function a node stands in; its own decorators and defaults count as inside."""
        return next((found for found in self.above(node) if isinstance(found, cst.FunctionDef)), None)

    def class_of(self, node: cst.CSTNode) -> cst.ClassDef | None:
        """The class a node stands in."""
        return next((found for found in self.above(node) if isinstance(found, cst.ClassDef)), None)

    def scope(self, node: cst.CSTNode) -> Scope | None:
        """The scope a node is looked up in."""
        found = self._scopes.get(node)
        if found is not None:
            return found
        return next((self._scopes[above] for above in self.above(node) if self._scopes.get(above) is not None), None)

    def methods(self, owner: cst.ClassDef) -> tuple[cst.FunctionDef, ...]:
        """The methods of a class."""
        definitions = (cst.FunctionDef, cst.ClassDef)
        return tuple(
            function
            for function in self.functions
            if next((a for a in self.above(function) if isinstance(a, definitions)), None) is owner
        )

    def attribute_values(self, node: cst.CSTNode, name: str) -> tuple[cst.CSTNode, ...]:
        """What the class around a node assigns to `self.<name>` or `<name>`; a method of that name too."""
        owner = self.class_of(node)
        if owner is None:
            return ()
        if owner not in self._fields:
            self._fields[owner] = _fields_of(owner)
        return tuple(self._fields[owner].get(name, ()))

    def results(self, function: cst.FunctionDef) -> tuple[cst.BaseExpression, ...]:
        """What a function returns or yields."""
        if function not in self._results:
            self._results[function] = tuple(
                node.value
                for node in self.own_nodes(function)
                if isinstance(node, (cst.Return, cst.Yield)) and isinstance(node.value, cst.BaseExpression)
            )
        return self._results[function]

    def own_nodes(self, function: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Nodes of a function's (or module's) body, those of functions and classes inside it left out."""
        yield from walk(function, stop=(cst.FunctionDef, cst.ClassDef))

    def argument(self, call: cst.Call, name: str, place: int | None = None) -> cst.BaseExpression | None:
        """The argument of a call with that keyword, or at that place among the positional ones."""
        for arg in call.args:
            if arg.keyword is not None and arg.keyword.value == name:
                return arg.value
        positional = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
        return positional[place] if place is not None and place < len(positional) else None

    def home(self, node: cst.CSTNode, name: str) -> cst.CSTNode | None:
        """The function whose variable a name is at a node; None for the module."""
        scope = self.scope(node)
        for one in () if scope is None else scope[name]:
            return getattr(one.scope, "node", None)
        return None

    def direct_calls(self, function: cst.FunctionDef) -> tuple[cst.Call, ...]:
        """Calls that name a function as it is defined; a method is called on `self` or on anything."""
        return tuple(
            call for call in self._calls_by_name.get(function.name.value, ()) if self._names_it(call, function)
        )

    def _names_it(self, call: cst.Call, function: cst.FunctionDef) -> bool:
        if isinstance(call.func, cst.Attribute):
            return self.class_of(function) is not None
        scope = self.scope(call.func)
        return scope is not None and any(
            isinstance(one, Assignment) and one.node is function for one in scope[function.name.value]
        )

    @cached_property
    def _calls_by_name(self) -> dict[str, list[cst.Call]]:
        found: dict[str, list[cst.Call]] = {}
        for call in self.calls:
            found.setdefault(last_name(call.func), []).append(call)
        return found


def _fields_of(owner: cst.ClassDef) -> dict[str, list[cst.CSTNode]]:
    """Name of a field -> what it is assigned, anywhere in the class; methods are fields too."""
    found: dict[str, list[cst.CSTNode]] = {}
    for node in walk(owner):
        match node:
            case cst.Assign(targets=targets, value=value):
                for one in targets:
                    found.setdefault(_field(one.target), []).append(value)
            case cst.AnnAssign(target=target, value=value) if value is not None:
                found.setdefault(_field(target), []).append(value)
            case cst.FunctionDef(name=cst.Name(value=name)):
                found.setdefault(name, []).append(node)
    return found


def _field(target: cst.BaseExpression) -> str:
    match target:
        case cst.Name(value=name) | cst.Attribute(value=cst.Name(value="self" | "cls"), attr=cst.Name(value=name)):
            return name
    return ""


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


def is_none(node: cst.CSTNode) -> bool:
    """Whether an expression is `None`, by its name."""
    return isinstance(node, cst.Name) and node.value == "None"


def is_zero(value: object) -> bool:
    """Whether a constant is the number 0, and not False."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0


def dotted(node: cst.CSTNode | None) -> str:
    """Return `a.b.c` of names and attributes; other expressions give an empty part."""
    if isinstance(node, cst.Attribute):
        return f"{dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


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
        harnesses: names at the top of the module whose definition speaks of `JudgeHarness`.

    """

    imports: Mapping[str, str] = field(default_factory=dict)
    stars: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    methods: Mapping[str, frozenset[str]] = field(default_factory=dict)
    read: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()
    harnesses: frozenset[str] = frozenset()


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
        harnesses=frozenset(name for name, node in bound.items() if _speaks_of_harness(node)),
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


def _speaks_of_harness(node: ast.AST) -> bool:
    names = (one.id if isinstance(one, ast.Name) else getattr(one, "attr", "") for one in ast.walk(node))
    return "JudgeHarness" in names


def _methods(owner: ast.ClassDef) -> frozenset[str]:
    functions = (node for node in ast.walk(owner) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return frozenset(function.name for function in functions)


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


Framework: TypeAlias = Literal["langchain", "openevals", "langsmith", "adk", "handwritten"]
JudgeShape: TypeAlias = Literal["pairwise", "labels", "scores", "any"]


class Span(TypedDict):
    """Lines and columns of a place, from 1; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgeSite:
    """A judge in a file.

    Args:
        framework: whose judge it is.
        kind: the evaluator's name (`pairwise_string`, `llm_as_judge`, `LangChainStringEvaluator`, a metric of ADK);
            `invoke` for a model that is asked by hand, `run_evaluator` where that happens in an evaluator of LangSmith;
            `unknown` where only running the code tells.
        shape: what its verdicts are.
        node: the libcst call that makes or asks it; None in a config.
        line, column, end_line, end_column: lines count from 1, columns from 1, the end is exclusive.
        name: the variable it is bound to (`self.judge` for an attribute).
        is_async: whether it is asked with `await`; None where that is not seen.
        harnessed: a harness asks it already.
        deterministic: it asks no model (exact match, regex, JSON, distances).
        samples: how often the code asks it about one case; None for an unknown number of times.
        evidence: why it is taken for a judge.
        definition: of a judge of another scanned file, the file and line where it is made or asked; `node` is then its
            first use here and `uses` are all of them.

    """

    framework: Framework
    kind: str
    shape: JudgeShape
    node: cst.Call | None
    line: int
    column: int
    end_line: int
    end_column: int
    name: str | None = None
    is_async: bool | None = None
    harnessed: bool = False
    deterministic: bool = False
    samples: int | None = 1
    evidence: str
    definition: tuple[Path, int] | None = None
    uses: tuple[cst.Call, ...] = ()

    @property
    def by_hand(self) -> bool:
        """Whether it is a call that asks a model itself, and no evaluator of a framework."""
        return self.kind in {"invoke", "run_evaluator"}

    @property
    def span(self) -> Span:
        """Where it is made or asked."""
        return Span(line=self.line, column=self.column, end_line=self.end_line, end_column=self.end_column)


def span_of(view: ModuleIndex, node: cst.CSTNode) -> Span:
    """Return where a node stands."""
    place = view.position(node)
    return Span(
        line=place.start.line, column=place.start.column + 1, end_line=place.end.line, end_column=place.end.column + 1
    )


RUN_METHODS = frozenset({"evaluate_run", "aevaluate_run", "__call__"})
"""What LangSmith calls of an object it is given as an evaluator."""


class OtherFiles(Protocol):
    """The files that are scanned with one, and what they offer each other; an `importer` is the file that asks."""

    def concerns(self, path: Path, text: str) -> bool:
        """Whether a file uses judges it imports, asks with words it imports, or has fixtures of a `conftest.py`."""
        ...

    def has(self, path: Path) -> bool:
        """Whether a Python file is one of these."""
        ...

    def home_of(self, importer: Path, full: str) -> Path | None:
        """Return the file of these that a module's name means, as a file imports it."""
        ...

    def speaking_of(self, word: str) -> tuple[Path, ...]:
        """Return the files a word stands in."""
        ...

    def outline(self, path: Path) -> Outline:
        """Return what a file binds and calls."""
        ...

    def holds(self, importer: Path, full: str) -> bool:
        """Whether a full name is bound in these files, judge or not."""
        ...

    def offer(self, importer: Path, full: str) -> Offer | None:
        """Return what a full name, as a file imports it, offers; None where it is no judge of these files."""
        ...

    def fixture(self, importer: Path, name: str) -> Offer | None:
        """Return the judge of a fixture that a `conftest.py` beside or above a test file gives it."""
        ...

    def has_fixture(self, importer: Path, name: str) -> bool:
        """Whether a `conftest.py` beside or above a file binds a name, judge or not."""
        ...

    def makes_harness(self, importer: Path, full: str) -> bool:
        """Whether a full name, as a file imports it, is bound to a `JudgeHarness` in these files."""
        ...

    def has_harness_fixture(self, importer: Path, name: str) -> bool:
        """Whether the `conftest.py` next to a file, beside or above it, binds a name to a `JudgeHarness`."""
        ...

    def evaluators(self, path: Path) -> tuple[Foreign, ...]:
        """Return what other files give to LangSmith's `evaluate` and import from a file, by its names there."""
        ...

    def words(self, importer: Path, full: str) -> str:
        """Return the texts in what a full name is bound to in these files."""
        ...


Role: TypeAlias = Literal["judge", "maker", "asker", "client", "class", "object"]


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One name of a module.

    Args:
        role: `judge` is asked itself, a `maker` returns one, an `asker` asks one, a `client` asks a model what it is
            given; a `class`, and an `object` of one, have `methods` that do so.
        path, line: where the judge is made or asked.
        framework, kind, shape, name, is_async, harnessed: as of its site.
        methods: what the methods do.

    """

    role: Role
    path: Path
    line: int
    framework: Framework = "handwritten"
    kind: str = "invoke"
    shape: JudgeShape = "any"
    name: str | None = None
    is_async: bool | None = None
    harnessed: bool = False
    methods: Mapping[str, Offer] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """What another file gives to `evaluate`: an evaluator or a list of them, or what a function of it returns."""

    full: str
    several: bool = False
    called: bool = False
