from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from judgeharness_integrations.reporting.schemas import schema, schema_names

pytestmark = [pytest.mark.slow, pytest.mark.untraced]  # other tests cover what is run here

NAMES = schema_names()
# written where something is missing or goes wrong that other tests look at
RARE = {
    "passport-1": {"column"},  # a passport has no strata
    "certificate-1": {"column"},  # each stratum of a certificate is a population of its own
    "comparison-1": {"clusters"},
    "corrected_rate-1": {"split"},
    "migrate-1": {"problem"},
    "rank-1": {"clusters"},
    "runs-1": {"batches"},  # a provider's, of which the tests of the batch engine know
    "report-1": {"annotators", "annotators_reason", "created_at", "cascade", "panel"},
}
WRONG = (None, True, -1.5, "no such value", [{}], {"surprise": [None]})


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema(name))


def objects(check: Draft202012Validator, node: Any, value: Any, path: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Yield (path in the document, schema) of every object whose keys the schema knows."""
    if "$ref" in node:
        node = check.schema["$defs"][node["$ref"].removeprefix("#/$defs/")]
    for branch in [*node.get("anyOf", ()), *node.get("oneOf", ())]:
        if check.evolve(schema=branch | {"$defs": check.schema.get("$defs", {})}).is_valid(value):
            yield from objects(check, branch, value, path)
    if isinstance(value, dict):
        known, others = node.get("properties", {}), node.get("additionalProperties")
        if known:
            yield path, node
        for key, part in value.items():
            below = known.get(key, others)
            if isinstance(below, dict):
                yield from objects(check, below, part, (*path, key))
    if isinstance(value, list) and isinstance(node.get("items"), dict):
        for place, part in enumerate(value):
            yield from objects(check, node["items"], part, (*path, place))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_follows_its_schema(written: Any, name: str) -> None:
    check = validator(name)
    errors = [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message:.300}"
        for document in written.documents[name]
        for error in check.iter_errors(document)
    ]
    assert errors == []


def test_nothing_is_written_without_a_schema(written: Any) -> None:
    assert set(written.documents) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_key_of_a_schema_is_written_by_something(written: Any, name: str) -> None:
    check = validator(name)
    seen: dict[str, set[str]] = {}
    for document in written.documents[name]:
        for path, node in objects(check, check.schema, document):
            if {"calibration_report", "certificate_report"} & set(path):  # the same as calibration-1, certificate-1
                continue
            keys = seen.setdefault(json.dumps(node), set())
            value = at(document, path)
            keys |= {key for key in node["properties"] if value.get(key) is not None}
    for text, keys in seen.items():
        node = json.loads(text)
        missing = sorted(set(node["properties"]) - keys - RARE.get(name, set()))
        assert missing == [], node.get("description") or node.get("title")


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


@pytest.mark.parametrize("name", NAMES)
def test_a_document_with_a_key_removed_added_or_of_another_type_is_refused(written: Any, name: str) -> None:
    check = validator(name)
    looked_at: set[str] = set()
    whole = sorted(written.documents[name], key=lambda one: len(json.dumps(one)))
    for document in [*map(shortened, whole), *whole]:
        for path, node in list(objects(check, check.schema, document)):
            if (text := json.dumps(node)) not in looked_at:
                looked_at.add(text)
                for what, changed in changes(check, node, document, path):
                    assert not check.is_valid(changed), f"{'/'.join(map(str, path))}: {what}"
    assert looked_at


def shortened(value: Any) -> Any:
    """Return a document with the first two of any objects in a row: it is read again and again."""
    if isinstance(value, dict):
        return {key: shortened(part) for key, part in value.items()}
    if isinstance(value, list):
        return [shortened(part) for part in (value[:2] if any(isinstance(part, dict) for part in value) else value)]
    return value


def changes(
    check: Draft202012Validator, node: dict[str, Any], document: Any, path: tuple[Any, ...]
) -> Iterator[tuple[str, Any]]:
    """Yield what is done to an object of the document, and the document while it is so."""
    place = at(document, path)
    whole = dict(place)

    def changed(what: str, key: str, *value: Any) -> Iterator[tuple[str, Any]]:
        place.pop(key, None)
        place.update((key, one) for one in value)
        yield what, document
        place.clear()
        place.update(whole)

    for key in node["required"]:
        yield from changed(f"without {key}", key)
    if node.get("additionalProperties") is False:
        yield from changed("with a key more", "surprise", 1)
    for key, part in node["properties"].items():
        alone = check.evolve(schema=part | {"$defs": check.schema.get("$defs", {})})
        wrong = next(value for value in WRONG if not alone.is_valid(value))
        yield from changed(f"{key} of {wrong!r}", key, wrong)
