"""Objects that configuration files name as `module:function`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.aggregation.rules import Rule, rule

__all__ = ["import_object", "imported_rule"]


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
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"{where}: {module_name!r} has no {attribute!r}.")
        found = getattr(found, part)
    return found


def imported_rule(spec: str, *, folder: Path, where: str) -> Rule:
    """Return the rule of a name, or of a function given as `module:function`, which then is its name."""
    if ":" not in spec:
        return rule(spec)
    function = import_object(spec, folder=folder, where=where)
    if isinstance(function, Rule):
        return function
    if not callable(function):
        raise ConfigError(f"{where}: {spec!r} is not a function of rows.")
    return Rule(spec, function)
