"""What makes a plain function the same function, read from its source; nothing is imported or run for it."""

from __future__ import annotations

import contextlib
import dis
import hashlib
import inspect
import linecache
import os.path
import re
import sys
import textwrap
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from judgeharness_integrations._modulesource import Needed, Statement, UnreadableError, bindings, needed

__all__ = ["UnreadableError", "function_name", "source_digest"]

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
    such a value. The name and the place of the module itself do not.

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

    def _named(self, name: str, value: object, file: str) -> Iterator[str]:
        """Yield the value a name of the module has; nothing where the statements that bind it tell."""
        statements = self._module.bindings.get(name, ())
        imported = bool(statements) and all(one.imports for one in statements)
        if _is_plain(value):
            yield from self.values({name: value})
        elif imported or (isinstance(value, ModuleType) and statements):
            return
        elif isinstance(value, FunctionType):
            yield from self._helper(name, value, statements, file)
        elif not statements or any(name in one.changes for one in self._module.bindings.get("", ())):
            yield from self.values({name: value})
        elif isinstance(value, type) and value.__module__ != self._module.name:
            yield f"{name} is {value.__module__}.{value.__qualname__}"

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
