"""What loads at first use: names of a package, and renderers, which stand above the values that find them by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def lazy(
    package: str, homes: Mapping[str, str], require: Callable[[str], None] | None = None
) -> Callable[[str], object]:
    """Return a package's `__getattr__`, and let `dir` list the names that load at first use.

    Args:
        package: its `__name__`.
        homes: public name -> module it is from, relative to the package.
        require: is called with a name before its module is loaded, and may raise what is missing.

    """
    module = sys.modules[package]

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if require is not None:
            require(name)
        value: object = getattr(import_module(f".{homes[name]}", package), name)
        setattr(module, name, value)
        return value

    vars(module)["__dir__"] = lambda: sorted({*vars(module), *homes})
    return load


_PLACES: dict[tuple[str, str], str] = {}


def register_renderers(places: Mapping[str, Mapping[str, str]]) -> None:
    """Say where renderers are, which are imported at first use.

    Args:
        places: name of a value's class -> form -> `module:function` within this package; the function takes the value.

    """
    _PLACES.update({(value, form): place for value, forms in places.items() for form, place in forms.items()})


def renderer(value: object, form: str) -> Callable[..., Any]:
    """Return the function that renders a value, or reads what was rendered of a class, in a form."""
    kind = value if isinstance(value, type) else type(value)
    place = next(_PLACES[one.__name__, form] for one in kind.__mro__ if (one.__name__, form) in _PLACES)
    return _named(place)


@lru_cache(maxsize=64)
def _named(place: str) -> Callable[..., Any]:
    module, _, function = place.partition(":")
    named: Callable[..., Any] = getattr(import_module(f"{__package__}.{module}"), function)
    return named


class Rendered:
    """A value that has a data frame, and something that a notebook shows."""

    __slots__ = ()

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame; the functions of `reporting.frames` say what its rows are.

        Raises:
            NotInstalledError: pandas is not installed.

        """
        frame: pd.DataFrame = renderer(self, "frame")(self)
        return frame

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return str(renderer(self, "fragment")(self))
