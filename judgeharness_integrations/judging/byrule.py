"""Judges that compare by rule: why one call says all there is to know, and what makes two of them the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from judgeharness_integrations.judging.adapters import installed_version
from judgeharness_integrations.judging.functionsource import UnreadableError, source_digest
from judgeharness_integrations.judging.judge import JudgeIdentity

ASKS_NO_MODEL = "asks no model"
ASKS_AN_EMBEDDING_MODEL = "asks an embedding model, which answers alike each time"


def identified(make: Callable[[], JudgeIdentity]) -> tuple[JudgeIdentity | None, str | None]:
    """Return the identity a function makes, or why there is none: the pair of a judge's `identity`, `unidentified`."""
    try:
        return make(), None
    except UnreadableError as error:
        return None, str(error)


def rule_identity(
    name: str, *, packages: Sequence[str], parameters: Mapping[str, object], model: str | None = None
) -> JudgeIdentity:
    """Return what makes a comparison of a package the same one: its name, versions, and how it is set.

    Args:
        name: the comparison's own name.
        packages: the import names of the packages that compare; one that is not installed does not count.
        parameters: how it is set. A function of one of the packages is told by its name, another one
            by its source.
        model: the embedding model it asks.

    Raises:
        UnreadableError: a parameter cannot be compared with another one.

    """
    versions = {package: found for package in packages if (found := installed_version(package)) is not None}
    settings = {key: _told(key, value, packages) for key, value in sorted(parameters.items())}
    return JudgeIdentity(name=name, model=model, parameters={"versions": versions, **settings})


def _told(name: str, value: Any, packages: Sequence[str]) -> Any:
    """Return a value as JSON keeps it."""
    if isinstance(value, Mapping):
        return {str(key): _told(f"{name}[{key!r}]", part, packages) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = [_told(name, part, packages) for part in value]
        return sorted(parts, key=str) if isinstance(value, (set, frozenset)) else parts
    given = value.value if isinstance(value, Enum) else value
    return given if given is None or isinstance(given, (str, int, float)) else _told_code(name, given, packages)


def _told_code(name: str, value: Any, packages: Sequence[str]) -> str:
    """Return what tells a function from another one."""
    builtin = isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, ModuleType)
    if builtin or (isinstance(value, FunctionType) and _is_written_in(value, packages)):
        return f"{value.__module__}.{value.__qualname__}"
    if not isinstance(value, (FunctionType, partial)):
        raise UnreadableError(f"its `{name}` is a {type(value).__name__}, which cannot be compared with another one")
    try:
        return source_digest(value)
    except UnreadableError as error:
        raise UnreadableError(f"its `{name}`: {error}") from None


def _is_written_in(function: FunctionType, packages: Sequence[str]) -> bool:
    """Whether a function is of one of the packages, so that its name and their version tell all of it."""
    return str(function.__module__).partition(".")[0] in packages and not function.__closure__
