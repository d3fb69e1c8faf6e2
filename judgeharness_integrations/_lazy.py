"""Names of a package that load at first use: a package must import fast, and say what is missing when it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy(
    package: str, homes: Mapping[str, str], require: Callable[[str], None] | None = None
) -> Callable[[str], object]:
    """Return a package's `__getattr__`.

    Args:
        package: its `__name__`.
        homes: public name -> module it is from, relative to the package.
        require: is called with a name before its module is loaded, and may raise what is missing.

    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if require is not None:
            require(name)
        value: object = getattr(import_module(f".{homes[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
