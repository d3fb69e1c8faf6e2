"""A command from the class of its request: every field of it is an option or an argument, told nowhere else.

The class stands in a module that imports nothing heavy, so that `--help` is fast; what the command does is named, and
imported when the command is called. Commands themselves are imported when they are named.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum, StrEnum
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

_Request = TypeVar("_Request")
_EMPTY = inspect.Parameter.empty


def command(
    request: type[Any], work: str | Callable[[Any], int | None], *, needs: str | None = None
) -> Callable[..., None]:
    """Return the command of a request.

    Args:
        request: a dataclass, whose docstring is the help. A field is `Annotated` with `typer.Option` or
            `typer.Argument`, as the parameter of a command would be; `tuple[T, ...]` may be given several times,
            `Literal` is one of some words, and a field that is a dataclass itself is a group of further options.
        work: what takes the request and returns an exit code, or None; `package.module:function` where importing it
            would make `--help` slow.
        needs: `package.module:function`, called before that is imported: it raises what is not installed.

    """

    def run(**given: Any) -> None:
        if needs is not None:
            pkgutil.resolve_name(needs)()
        does = pkgutil.resolve_name(work) if isinstance(work, str) else work
        raise typer.Exit(does(_request_of(request, given)) or 0)

    parameters = list(_parameters(request).values())
    signature: Any = inspect.Signature(parameters)
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = request.__doc__
    run.__name__ = request.__name__
    run.declared = request, work  # type: ignore[attr-defined]
    return run


def part_of(request: Any, part: type[_Request], **own: Any) -> _Request:
    """Return a dataclass made of what a request has by the names of its fields, and of its `own` ones."""
    names = {field.name for field in fields(request)}
    shared = {field.name: getattr(request, field.name) for field in fields(cast("Any", part)) if field.name in names}
    return part(**(shared | own))


def _parameters(request: type[Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a command by name, groups unfolded."""
    parameters: dict[str, inspect.Parameter] = {}
    for field, kind, option in _declared(request):
        if option is None:
            parameters |= _parameters(kind)
            continue
        annotation, default = _parameter(kind, field.default)
        parameters[field.name] = inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, option]
        )
    return parameters


def _declared(request: type[Any]) -> Iterator[tuple[Field[Any], Any, Any]]:
    """Yield each field that can be given, its type and its option, which a group has not."""
    hints = get_type_hints(request, include_extras=True)
    for field in fields(request):
        hint = hints[field.name]
        if is_dataclass(hint):
            yield field, hint, None
        elif get_origin(hint) is Annotated:
            yield field, *get_args(hint)


def _parameter(kind: Any, default: Any) -> tuple[Any, Any]:
    """Return the type that typer is asked for and its default."""
    plain = _plain(kind)
    required = default is MISSING
    if get_origin(plain) is tuple:
        return (list[get_args(plain)[0]], _EMPTY) if required else (list[get_args(plain)[0]] | None, None)  # type: ignore[misc]
    if get_origin(plain) is Literal:
        words = _words(plain)
        shown = default if required or default is None else words(default)
        return words if plain is kind else words | None, _EMPTY if required else shown
    return kind, _EMPTY if required else default


def _plain(kind: Any) -> Any:
    """Return the type that is not None."""
    if get_origin(kind) in {Union, types.UnionType}:
        return next(part for part in get_args(kind) if part is not type(None))
    return kind


@cache
def _words(kind: Any) -> type[StrEnum]:
    """Return the words of a Literal as typer takes them."""
    return StrEnum("Word", {word.replace("-", "_"): word for word in get_args(kind)})  # type: ignore[return-value]


def _request_of(request: type[_Request], given: Mapping[str, Any]) -> _Request:
    """Return the request of what was given; what was not is as the field says."""
    values: dict[str, Any] = {}
    for field, kind, option in _declared(request):
        value = _request_of(kind, given) if option is None else given[field.name]
        if option is not None and get_origin(_plain(kind)) is tuple:
            if not value:
                continue
            value = tuple(value)
        values[field.name] = str(value.value) if isinstance(value, Enum) else value
    return request(**values)


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are named: a list of them need not know their options."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command as a whole."""
        listed = super().get_command(ctx, cmd_name)
        return None if listed is None else _loaded(cast("Any", listed.callback).home, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        del ctx
        limit = formatter.width - 6 - max(map(len, self.commands))
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(limit)) for name, one in self.commands.items()])


def add_lazily(app: typer.Typer, package: str, listed: Mapping[str, tuple[str, str]]) -> None:
    """Add commands by name: each stands, under its name, in a module of the package, and has one line about it."""
    for name, (module, line) in listed.items():

        def lazily() -> None:
            """Stand for a command that is not imported yet."""

        lazily.home = f"{package}.{module}"  # type: ignore[attr-defined]
        app.command(name, short_help=line)(lazily)


@cache
def _loaded(home: str, name: str) -> Any:
    known = getattr(importlib.import_module(home), name.replace("-", "_"))
    if isinstance(known, typer.Typer):  # a group
        return typer.main.get_command(known)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name)(known)
    return typer.main.get_command(app)
