"""What is wrong with a configuration, as one sentence with the key it is about and what is expected there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import BaseModel

from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.config.schema import Config

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["at_line", "dotted", "first_problem", "kind"]

_KINDS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping of keys",
    "model_type": "a mapping of keys",
}
_IN_CODE = {
    "retrying": "is a Python object, which no file holds: give JudgeHarness(retrying=...) in code, or max_attempts here"
}
_CLASSES = {"str": "a text"}
_LONGEST_VALUE = 80


def dotted(place: Sequence[str | int]) -> str:
    """Return `judges[0].name` for ("judges", 0, "name")."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


def kind(value: object) -> str:
    """Return what a value is, without showing it."""
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false", int: "a number"}
    return "nothing" if value is None else names.get(type(value), f"a {type(value).__name__}")


def first_problem(problems: Sequence[ErrorDetails], source: str, schema: type[BaseModel] = Config) -> UsageError:
    """Return the error of the first problem, keys nobody knows before what follows from them."""
    problem = min(problems, key=lambda one: one["type"] not in ("extra_forbidden", "invalid_key"))
    if problem["type"] != "extra_forbidden":
        return ConfigError(f"{source}: {_sentence(problem)}.")
    *parent, key = problem["loc"]
    dot = f"{dotted(parent)}." if parent else ""
    if key in _IN_CODE:
        return ConfigError(f"{source}: {dot}{key} {_IN_CODE[key]}.")
    return UnknownNameError("key", f"{dot}{key}", [dot + name for name in _keys_at(schema, parent)])


def at_line(problem: UsageError, where: str) -> UsageError:
    """Return a problem with its file and line, which that of a key nobody knows leaves out."""
    text = str(problem)
    return problem if text.startswith(where) else UsageError(f"{where}: {text}")


def _sentence(problem: ErrorDetails) -> str:
    kind_of_problem, place = problem["type"], problem["loc"]
    where = dotted(place)
    if kind_of_problem == "missing":
        return f"key {where!r} is missing"
    if kind_of_problem == "value_error":
        return ": ".join(filter(None, (where, problem["msg"].removeprefix("Value error, "))))
    if kind_of_problem == "invalid_key" or place[-1:] == ("[key]",):
        *parent, key = place if kind_of_problem == "invalid_key" else place[:-1]
        return f"key {key!r} of {dotted(parent) or 'the file'} must be a text"
    if (expected := _expected(kind_of_problem, problem.get("ctx", {}))) is None:
        return f"{where} is not valid: {problem['msg']}"  # a kind of problem this schema does not have
    shown = "" if where.endswith("_options") else f", not {_shown(problem['input'])}"  # a key may have been given
    return f"{where} must be {expected}{shown}"


def _expected(kind_of_problem: str, context: Mapping[str, Any]) -> str | None:
    if kind_of_problem == "literal_error":
        return str(context["expected"])
    if kind_of_problem in ("too_short", "string_too_short"):
        what = "a list of at least {} entry" if kind_of_problem == "too_short" else "a text of at least {} character"
        return what.format(context["min_length"])
    if kind_of_problem in ("greater_than_equal", "greater_than"):
        return f"a number of at least {context['ge']:g}" if "ge" in context else f"a number above {context['gt']:g}"
    if kind_of_problem == "is_instance_of":
        return _CLASSES.get(context["class"])
    return _KINDS.get(kind_of_problem)


def _shown(value: object) -> str:
    if value is None or isinstance(value, (dict, list)):
        return "an empty list" if value == [] else kind(value)
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _keys_at(section: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    """Return the keys of the section at a place of the schema."""
    inside: Any = section
    for part in place:
        inside = _inside(inside, part)
    return list(_section_of(inside).model_fields)


def _inside(annotation: Any, part: str | int) -> Any:
    """Return the annotation of what stands under a key: of a section's field, of any key of a mapping, of an entry."""
    if get_origin(annotation) is dict:
        return get_args(annotation)[1]
    return _section_of(annotation).model_fields[part].annotation if isinstance(part, str) else annotation


def _section_of(annotation: Any) -> type[BaseModel]:
    """Return the section inside `X`, `X | None` or `list[X]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = next(part for part in get_args(annotation) if part is not type(None))
    return _section_of(inner)
