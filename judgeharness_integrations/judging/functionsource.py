"""Functions: where they are imported from, and what their source says."""

from __future__ import annotations

import ast
import contextlib
import dis
import hashlib
import inspect
import linecache
import os.path
import re
import sys
import sysconfig
import textwrap
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property, lru_cache, partial
from importlib import import_module, invalidate_caches
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from symtable import SymbolTable, symtable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, TypeAlias

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.aggregation.rules import Rule, rule

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


_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis), re.Pattern)


def function_name(function: object) -> str:
    """Return what reports call a function: its name, else that of its class; a lambda is a judge."""
    name = str(getattr(function, "__name__", type(function).__name__))
    return "judge" if name == "<lambda>" else name


def source_digest(function: object) -> str:
    """Return a digest of a named function's source and of what decides how it answers.

    That is the source of the function, the statements of its module that bind or change what it uses (a prompt, a
    helper, a client) and what they use in turn, the values of those that are texts, numbers, tuples or patterns, its
    default arguments, what it closes over, and the arguments of a `partial`. Of what is imported the name counts, and
    such a value; of functions of other modules of the project, which no installed package holds, the source. The name
    and the place of the module itself do not.

    Raises:
        UnreadableError: it is a lambda, an object with a state of its own, or written where no source can be read, or
            it holds a value that cannot be compared.

    """
    named = function.func if isinstance(function, partial) else function
    if not isinstance(named, FunctionType):
        raise UnreadableError(f"a {type(named).__name__} has no source of its own; write it as a function with `def`")
    if named.__name__ == "<lambda>":
        raise UnreadableError("a lambda has no name; write it as a function with `def`")
    digest = hashlib.sha256()
    for part in _Reader(_Module.of(named), {}).parts(function, "function"):
        digest.update(f"{len(part)}:{part}".encode(errors="surrogatepass"))
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class _Module:
    """The module a function is in: its names, and its source; none for a notebook's, which is in no file."""

    names: Mapping[str, Any]
    source: str

    @classmethod
    def of(cls, function: FunctionType) -> _Module:
        names, file = function.__globals__, function.__code__.co_filename
        module = sys.modules.get(names.get("__name__", ""))
        if module is not None and vars(module) is names:
            try:
                return cls(names, inspect.getsource(module))
            except (OSError, TypeError):
                return cls(names, "")
        if not os.path.isfile(file):  # noqa: PTH113 - read at every digest
            return cls(names, "")
        linecache.checkcache(file)
        return cls(names, "".join(linecache.getlines(file)))

    @cached_property
    def name(self) -> str:
        return str(self.names.get("__name__", ""))

    @cached_property
    def bindings(self) -> Mapping[str, tuple[Statement, ...]]:
        return bindings(self.source, main=self.name == "__main__")

    def needed(self, names: frozenset[str], reads: frozenset[tuple[str, ...]] = frozenset()) -> Needed:
        return needed(names, reads, self.source, main=self.name == "__main__")

    def placeless(self, value: object, used: Collection[str]) -> object:
        """Return a value; a path made of `__file__`, or a name made of `__name__`, as it is wherever the module is."""
        if not isinstance(value, str):
            return value
        if "__name__" in used and value.startswith(self.name):
            return "__name__" + value.removeprefix(self.name)
        file = self.names.get("__file__")
        if "__file__" in used and isinstance(file, str) and "\n" not in value and Path(value).is_absolute():
            with contextlib.suppress(ValueError):  # another drive
                return "__file__ " + os.path.relpath(value, os.path.dirname(file))  # noqa: PTH120 - may be relative
        return value


class _Reader:
    """Reads what tells values from others; `seen` are the functions read so far."""

    def __init__(self, module: _Module, seen: dict[int, int]) -> None:
        self._module = module
        self._seen = seen

    def parts(self, value: object, name: str) -> Iterator[str]:
        """Yield what tells a value from another one, a function by its source."""
        if isinstance(value, partial):
            yield "partial"
            yield from self.parts(value.func, name)
            yield from self.values({f"argument {place}": one for place, one in enumerate(value.args)} | value.keywords)
        elif isinstance(value, FunctionType):
            yield from self._function(value)
        elif type(value) in _PLAIN:
            yield _plain(value)
        elif type(value) is tuple or type(value) is frozenset:
            parts = ["|".join(f"{len(part)}:{part}" for part in self.parts(one, name)) for one in value]
            yield f"{type(value).__name__} of {len(parts)}"
            yield from parts if isinstance(value, tuple) else sorted(parts)
        elif isinstance(value, BuiltinFunctionType):
            yield f"{value.__module__}.{value.__qualname__}"
            if value.__self__ is not None and not isinstance(value.__self__, ModuleType):
                yield from self.parts(value.__self__, name)
        elif isinstance(value, type):
            yield from self._class(value, name)
        elif isinstance(value, ModuleType):
            yield value.__name__
        else:
            raise UnreadableError(
                f"its `{name}` is a {type(value).__name__}, which cannot be compared with another one"
            )

    def values(self, values: Mapping[str, object]) -> Iterator[str]:
        """Yield names and what tells their values from others."""
        for name, value in sorted(values.items()):
            yield name
            yield from self.parts(value, name)

    def _function(self, function: FunctionType) -> Iterator[str]:
        if id(function) in self._seen:  # one that calls itself, or is held twice
            yield f"function {self._seen[id(function)]} again"
            return
        self._seen[id(function)] = len(self._seen)
        if function.__globals__ is not self._module.names:
            yield from _Reader(_Module.of(function), self._seen)._read(function)  # noqa: SLF001 - its own kind
        else:
            yield from self._read(function)

    def _read(self, function: FunctionType) -> Iterator[str]:
        code = function.__code__
        yield from _written(code, code.co_filename, self._module.source)
        yield from self.values(dict(_defaults(function)))
        yield from self.values(dict(_closed_over(function)))
        here = self._module.bindings
        decorators = (one.decorators for one in here.get(code.co_name, ()) if code.co_firstlineno in one.lines)
        found = self._module.needed(_names(code, _GLOBAL).union(*decorators), _reads(code))
        changed = found.changed | _names(code, frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"}))
        for name in sorted(changed.intersection(found.names)):
            raise UnreadableError(f"it changes `{name}` from call to call")
        yield from self._names(found, code.co_filename)

    def _names(self, found: Needed, file: str) -> Iterator[str]:
        """Yield the statements of names of the module, and their values as far as no statement tells them."""
        names = self._module.names
        yield from found.texts
        for name in found.names:
            if name in names and not (name.startswith("__") and name.endswith("__")):
                yield from self._named(name, self._module.placeless(names[name], found.names), file)
        for path in found.reads:
            value = names.get(path[0])
            for place, attribute in enumerate(path[1:], 2):
                value = vars(value).get(attribute) if isinstance(value, ModuleType) else None
                if value is not None and _is_plain(value) and not attribute.startswith("__"):
                    yield from self.values({".".join(path[:place]): value})
                yield from self._imported(".".join(path[:place]), value)

    def _named(self, name: str, value: object, file: str) -> Iterator[str]:
        """Yield the value a name of the module has; nothing where the statements that bind it tell."""
        statements = self._module.bindings.get(name, ())
        imported = bool(statements) and all(one.imports for one in statements)
        if _is_plain(value):
            yield from self.values({name: value})
        elif imported or (isinstance(value, ModuleType) and statements):
            yield from self._imported(name, value)
        elif isinstance(value, FunctionType):
            yield from self._helper(name, value, statements, file)
        elif not statements or any(name in one.changes for one in self._module.bindings.get("", ())):
            yield from self.values({name: value})
        elif isinstance(value, type) and value.__module__ != self._module.name:
            yield f"{name} is {value.__module__}.{value.__qualname__}"

    def _imported(self, name: str, value: object) -> Iterator[str]:
        """Yield the source of a function of another module of the project, which may hold the prompt, where it can."""
        if isinstance(value, FunctionType) and not _is_installed(value.__code__.co_filename):
            with contextlib.suppress(UnreadableError):  # then its name counts, which the statement tells
                yield from list(self.values({name: value}))

    def _helper(self, name: str, value: FunctionType, statements: Collection[Statement], file: str) -> Iterator[str]:
        """Yield the source of a function of the module, the name of another one's; less where its statement tells."""
        code = value.__code__
        own = value.__globals__ is self._module.names
        written = own and not value.__closure__ and code.co_filename == file
        if written and any(code.co_firstlineno in one.lines for one in statements):
            defaults = dict(_defaults(value))
            yield from self.values({f"{name} {of}": one for of, one in defaults.items() if _is_plain(one)})
        elif own or (not statements and "<locals>" in code.co_qualname):
            yield from self.values({name: value})
        else:
            yield f"{name} is {value.__globals__.get('__name__')}.{code.co_qualname}"

    def _class(self, kind: type, name: str) -> Iterator[str]:
        """Yield the source of a class of the module, the name of another one's."""
        if "<locals>" in kind.__qualname__:
            raise UnreadableError(f"its `{name}` is a class made inside a function, which cannot be compared")
        if kind.__module__ != self._module.name:
            yield f"{kind.__module__}.{kind.__qualname__}"
            return
        yield kind.__qualname__
        first = kind.__qualname__.partition(".")[0]
        if first not in self._module.bindings:
            raise UnreadableError(f"its `{name}` is a class whose source cannot be read")
        if id(kind) not in self._seen:
            self._seen[id(kind)] = len(self._seen)
            yield from self._names(self._module.needed(frozenset({first})), "")


@lru_cache(maxsize=1024)
def _is_installed(file: str) -> bool:
    """Whether a file is Python's or an installed package's, which a version tells; what is in no file is, too."""
    path = Path(file)
    return (
        not path.is_file()
        or not {"site-packages", "dist-packages"}.isdisjoint(path.parts)
        or path.is_relative_to(sysconfig.get_path("stdlib"))
    )


def _plain(value: object) -> str:
    if isinstance(value, re.Pattern):
        return f"pattern {value.pattern!r} {value.flags}"
    return f"{type(value).__name__} {value!r}"


def _is_plain(value: object) -> bool:
    """Whether a value is told from others by what it is alone, and stays it."""
    if type(value) is tuple or type(value) is frozenset:
        return all(map(_is_plain, value))
    return type(value) in _PLAIN


def _defaults(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield parameter and default of a function."""
    names, defaults = function.__code__.co_varnames[: function.__code__.co_argcount], function.__defaults__ or ()
    yield from zip(names[len(names) - len(defaults) :], defaults, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def _closed_over(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield name and value of what a function finds in the functions around it."""
    changed = _names(function.__code__, frozenset({"STORE_DEREF"})) if function.__closure__ else frozenset[str]()
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name in changed:
            raise UnreadableError(f"it changes `{name}` from call to call")
        with contextlib.suppress(ValueError):  # not bound yet
            yield name, cell.cell_contents


@lru_cache(maxsize=1024)
def _written(code: CodeType, _file: str, _module: str) -> tuple[str, ...]:
    """Return the name and the source of a function."""
    try:
        source = textwrap.dedent(inspect.getsource(code))
    except (OSError, TypeError, IndexError, SyntaxError):
        raise UnreadableError("its source cannot be read") from None
    if code.co_name.isidentifier() and re.search(rf"\bdef\s+{code.co_name}\b", source) is None:
        raise UnreadableError("its source cannot be read")  # other lines: the file was changed since
    return (code.co_name, source)


@lru_cache(maxsize=4096)
def _names(code: CodeType, operations: frozenset[str]) -> frozenset[str]:
    """Return the names a piece of code handles by some operations, its inner functions included."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname in operations}
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return frozenset(names.union(*(_names(one, operations) for one in inner)))


@lru_cache(maxsize=1024)
def _reads(code: CodeType) -> frozenset[tuple[str, ...]]:
    """Return the dotted names of the module that a piece of code reads: `prompts.PROMPT`."""
    found, path = set[tuple[str, ...]](), tuple[str, ...]()
    for step in dis.get_instructions(code):
        if step.opname in _GLOBAL:
            path = (step.argval,)
        elif path and step.opname in {"LOAD_ATTR", "LOAD_METHOD"}:
            path = (*path, step.argval)
        elif step.opname not in {"CACHE", "PUSH_NULL", "EXTENDED_ARG", "NOP"}:
            found |= {path} if len(path) > 1 else set()
            path = ()
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return frozenset(found.union(*map(_reads, inner)))


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    """Put a folder on the import path, only while importing."""
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(entry)


def import_object(path: str, *, folder: Path, where: str) -> Any:
    """Return what `module:attribute` names; modules beside the configuration are found too.

    Raises:
        ConfigError: it is malformed, the module cannot be imported, or it has no such attribute.

    """
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise ConfigError(f"{where}: {path!r} is no import path, write module:function.")
    try:
        with _importing_from(folder):
            found: Any = import_module(module_name)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ConfigError(f"{where}: module {module_name!r} cannot be imported ({reason}).") from error
    return _part(found, attribute, f"{where}: {module_name!r}")


def import_file(path: Path, attribute: str, *, where: str) -> Any:
    """Return what stands in a Python file under a name; modules beside the file are found while it is read.

    It is read once in a process, and is no module of its name: another one that is called alike stays what it is.

    Raises:
        ConfigError: it does not exist or cannot be imported, or has no such attribute.

    """
    if not path.is_file():
        raise ConfigError(f"{where}: {path} does not exist.")
    try:
        found: Any = _module_of(path.resolve())
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ConfigError(f"{where}: {path} cannot be imported ({reason}).") from error
    return _part(found, attribute, f"{where}: {path}")


@cache
def _module_of(path: Path) -> ModuleType:
    name = f"{path.stem}@{path}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses and the like look their module up
    try:
        with _importing_from(path.parent):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _part(found: Any, attribute: str, where: str) -> Any:
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"{where} has no {attribute!r}.")
        found = getattr(found, part)
    return found


def imported_rule(spec: str, *, folder: Path, where: str) -> Rule:
    """Return the rule of a name, of a file of a passport, or of a function, whose name `module:function` then is."""
    if spec.endswith(".json"):
        from judgeharness_integrations.analysis.probability.passport import Passport  # noqa: PLC0415 - few have one

        return Passport.load(folder / Path(spec).expanduser()).rule(now=datetime.now(UTC))
    if ":" not in spec:
        return rule(spec)
    function = import_object(spec, folder=folder, where=where)
    if isinstance(function, Rule):
        return function
    if not callable(function):
        raise ConfigError(f"{where}: {spec!r} is not a function of rows.")
    return Rule(spec, function)
