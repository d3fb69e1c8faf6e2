"""Objects that files and options name as `module:function`, and what stands in a Python file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module, invalidate_caches
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.aggregation.rules import Rule, rule


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

        return Passport.load(folder / Path(spec).expanduser()).rule()
    if ":" not in spec:
        return rule(spec)
    function = import_object(spec, folder=folder, where=where)
    if isinstance(function, Rule):
        return function
    if not callable(function):
        raise ConfigError(f"{where}: {spec!r} is not a function of rows.")
    return Rule(spec, function)
