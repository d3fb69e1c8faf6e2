"""The fields of an `output_schema` that are measured: one criterion each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.utils.function_calling import convert_to_json_schema

from judgeharness_integrations.cases import Criterion

__all__ = ["PASS_FAIL", "SCORE", "field_criteria", "is_discrete", "json_schema", "sent_schema"]

PASS_FAIL = ("PASS", "FAIL")
SCORE = "score"  # the field that makes an output a result like openevals' own
_NUMBERS = frozenset({"number", "integer"})


def json_schema(schema: Any) -> Mapping[str, Any] | None:
    """Return the JSON schema of what `output_schema` takes: JSON or OpenAI's forms of it, a model, a TypedDict.

    None for what LangChain cannot read.
    """
    if isinstance(schema, Mapping):
        inner = schema.get("schema") or schema.get("parameters")
        return inner if isinstance(inner, Mapping) else schema
    try:
        return convert_to_json_schema(schema)
    except Exception:  # noqa: BLE001 - whatever it is, it is no schema
        return None


def sent_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema closed at its top, as openevals writes it when it asks a client."""
    inner = schema.get("schema")
    if isinstance(inner, Mapping):
        return {**schema, "schema": sent_schema(inner)}
    closed = schema.get("additionalProperties")
    rest = {name: part for name, part in schema.items() if name != "additionalProperties"}
    return rest | {"additionalProperties": False if closed is None else closed}


def is_discrete(schema: Mapping[str, Any]) -> bool:
    """Whether the schema has numbers, and gives all that each of them may be."""
    fields = [_resolved(field, schema) for field in (schema.get("properties") or {}).values()]
    numbers = [field for field in fields if field.get("type") in _NUMBERS]
    return bool(numbers) and all("enum" in field or "const" in field for field in numbers)


def field_criteria(schema: Mapping[str, Any], key: str) -> tuple[Criterion, ...]:
    """Return one criterion for each field that is a truth value, a number or one of given texts.

    A field `score` makes the output one result, of the criterion `key`; other fields are evidence.
    """
    properties = schema.get("properties") or {}
    if SCORE in properties:
        score = _criterion(key, _resolved(properties[SCORE], schema))
        return (score,) if score is not None else ()
    found = (_criterion(str(name), _resolved(field, schema)) for name, field in properties.items())
    return tuple(criterion for criterion in found if criterion is not None)


def _criterion(name: str, field: Mapping[str, Any]) -> Criterion | None:
    kind, texts = field.get("type"), field.get("enum", [field["const"]] if "const" in field else None)
    description = str(field.get("description", ""))
    if kind == "boolean":
        return Criterion(name=name, description=description, labels=PASS_FAIL)
    if kind in _NUMBERS:
        low, high = (min(texts), max(texts)) if texts else (field.get("minimum"), field.get("maximum"))
        scale = None if low is None or high is None else (float(low), float(high))
        return Criterion(name=name, description=description, scale=scale)
    if texts and all(isinstance(text, str) for text in texts):
        return Criterion(name=name, description=description, labels=tuple(texts))
    return None


def _resolved(field: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a field with its reference followed, and without the null of an optional one."""
    if "$ref" in field:
        name = str(field["$ref"]).rpartition("/")[2]
        return _resolved((schema.get("$defs") or schema.get("definitions") or {}).get(name, {}), schema)
    parts = [part for part in field.get("anyOf") or field.get("allOf") or () if part.get("type") != "null"]
    return _resolved(parts[0], schema) if len(parts) == 1 else field
