from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.schema_files import FOLDER, schema_texts

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.reporting.schemas import schema, schema_names

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "judgeharness_integrations"
NAMES = schema_names()
NAME_OF_A_DOCUMENT = re.compile(r'"judgeharness\.([a-z_-]+)/(\d+)"')


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every schema in a schema that describes an object's keys."""
    if isinstance(node, dict):
        if node.get("type") == "object" and "properties" in node:
            yield node
        for part in node.values():
            yield from nodes(part)
    elif isinstance(node, list):
        for part in node:
            yield from nodes(part)


def test_every_document_the_package_names_has_a_schema() -> None:
    sources = (path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    named = {f"{name}-{version}" for source in sources for name, version in NAME_OF_A_DOCUMENT.findall(source)}
    assert named == set(NAMES)


@pytest.mark.slow
def test_the_files_are_written_one_way_and_hold_shared_parts_once() -> None:
    found = {path.stem: path.read_text("utf-8") for path in FOLDER.glob("*.json")}
    assert found == schema_texts(), "write them: cd tests && python -m support.schema_files"


def test_the_page_about_files_has_a_place_for_the_list_of_schemas() -> None:
    page = (ROOT / "docs" / "reference" / "files.md").read_text("utf-8")
    assert page.count("\n<!-- schemas -->\n") == 1  # docs/hooks.py fills it from what schemas say of themselves


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one_and_names_itself(name: str) -> None:
    found = schema(name)
    Draft202012Validator.check_schema(found)
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["$id"] == f"{name}.json"
    assert found["title"]
    constants = re.findall(r'"const": "(judgeharness\.[^"]+)"', json.dumps(found))
    assert f"judgeharness.{name.replace('-', '/')}" in constants


@pytest.mark.parametrize("name", NAMES)
def test_every_key_is_described_and_only_rows_of_a_log_take_others(name: str) -> None:
    for node in nodes(schema(name)):
        assert [key for key, part in node["properties"].items() if not part.get("description")] == []
        assert set(node["required"]) <= set(node["properties"])
        closed = node.get("additionalProperties") is False
        assert closed or node["properties"]["schema"]["const"] == "judgeharness.log/1"


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_needs_no_other_file_and_holds_nothing_it_does_not_use(name: str) -> None:
    found = schema(name)
    wanted = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(found)))
    assert wanted == {f"#/$defs/{part}" for part in found.get("$defs", {})}


@pytest.mark.parametrize("kind", ["calibration", "certificate"])
def test_the_calibration_or_certificate_within_a_result_is_one(kind: str) -> None:
    whole, report = schema(f"{kind}-1"), schema("result-1")["$defs"][f"{kind}_report"]
    assert report["properties"] == whole["properties"]
    assert report["required"] == whole["required"]


def test_a_row_within_a_result_is_a_row_of_a_log() -> None:
    whole, row = schema("log-1"), schema("result-1")["$defs"]["row"]
    assert {key: row[key] for key in row} == {key: whole[key] for key in row}


@pytest.mark.parametrize("name", ["rank-1", "rank-1.json", "judgeharness.rank/1"])
def test_a_schema_is_found_by_the_name_of_its_document_or_file(name: str) -> None:
    assert schema(name)["$id"] == "rank-1.json"


def test_an_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"'judgeharness\.rnk/1': did you mean 'judgeharness\.rank/1'\?"):
        schema("judgeharness.rnk/1")
