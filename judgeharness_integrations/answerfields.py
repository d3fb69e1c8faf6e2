"""What a judge returned as fields: which of them is the verdict, which the reasoning, and what it was if neither."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

__all__ = ["REASONING", "AnswerFields", "answer_fields", "described", "numbered", "of_an_array"]

REASONING = ("reasoning", "explanation", "comment", "reason", "rationale", "justification", "feedback")
_VERDICT = ("verdict", "label", "score", "value", "grade")
_BESIDE = frozenset(  # what goes with a verdict and is none: of LangSmith's and autoevals' results, too
    {"confidence", "evidence", "metadata", "key", "name", "correction", "evaluator_info", "feedback_config"}
    | {"source_run_id", "target_run_id", "extra", "error"}
)
_LONGEST_LABEL = 3  # words
_MOST_NAMED = 8


@dataclass(frozen=True, kw_only=True)
class AnswerFields:
    """Fields of `one` answer, of which `verdicts` say its verdict, or else `criteria` with one answer each."""

    one: bool
    verdicts: Mapping[str, Any]
    criteria: Mapping[str, Any]
    reasoning: str | None


def answer_fields(value: object) -> AnswerFields | None:
    """Return the fields of a mapping, a pydantic object, a dataclass or a named tuple; None for anything else.

    They are one answer where one of them is called as a verdict is and no other is a verdict, else one a criterion.
    """
    given = _fields(value)
    if given is None:
        return None
    verdicts = {name: given[name] for name in _VERDICT if given.get(name) is not None}
    beside = any(name in given for name in _VERDICT)
    texts = {name: given[name] for name in REASONING if name in given and _is_reasoning(given[name], beside=beside)}
    reasoning = next((text for text in texts.values() if text), None)
    rest = {name: part for name, part in given.items() if name not in texts}
    others = {name for name in rest if name not in _VERDICT and name not in _BESIDE}
    if beside and not others:
        return AnswerFields(one=True, verdicts=verdicts, criteria={}, reasoning=reasoning)
    return AnswerFields(one=False, verdicts={}, criteria=rest, reasoning=reasoning)


def described(value: object) -> str:
    """Return what a value is, by its type and the names of its fields: what they hold may be somebody's secret."""
    kind, given = type(value).__name__, _fields(value)
    if given is None:
        return f"a value of type {kind}"
    names = ", ".join(f"{name!s:.40}" for name in list(given)[:_MOST_NAMED])
    more = ", ..." if len(given) > _MOST_NAMED else ""
    return f"a {kind} with {names}{more}" if given else f"an empty {kind}"


def of_an_array(value: object) -> object:
    """Return what a NumPy scalar or an array of no dimension holds, anything else as it is."""
    item = getattr(value, "item", None)
    return item() if getattr(value, "ndim", None) == 0 and callable(item) else value


def numbered(names: Iterable[str]) -> list[str]:
    """Return the names of several results; of those with the same name the second is `name_2`, and so on."""
    found: dict[str, None] = {}
    for own in names:
        name, number = own, 1
        while name in found:
            number += 1
            name = f"{own}_{number}"
        found[name] = None
    return list(found)


def _fields(value: object) -> Mapping[str, Any] | None:
    if isinstance(value, Mapping):
        return {str(name): part for name, part in value.items()}
    if isinstance(value, type):
        return None
    if isinstance(names := getattr(type(value), "model_fields", None), Mapping):  # pydantic
        return {name: getattr(value, name) for name in names} | (getattr(value, "model_extra", None) or {})
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, tuple) and (named := getattr(value, "_fields", None)) is not None:
        return dict(zip(named, value, strict=True))
    return None


def _is_reasoning(value: object, *, beside: bool) -> bool:
    """Whether a field is a reasoning; `beside` no verdict it may be a criterion: `{"comment": "not good", "tone": 4}`.

    A label has three words at most, and several of them end in no full stop.
    """
    if value is None or not isinstance(value, str) or beside:
        return value is None or isinstance(value, str)
    words = value.split()
    return not words or len(words) > _LONGEST_LABEL or (len(words) > 1 and value.rstrip()[-1] in ".!?")
