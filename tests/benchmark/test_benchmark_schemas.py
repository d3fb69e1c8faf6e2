from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.benchmark_results import judged, make_benchmark, verification
from support.benchmark_schemas import DESCRIPTIONS, RECORDS

from judgeharness_integrations.audit.labels import assign, label_log, read_results, write_assignment
from judgeharness_integrations.benchmark.pair import Record
from judgeharness_integrations.benchmark.verdicts import write_judgments
from judgeharness_integrations.reporting.schemas import schema


@pytest.mark.parametrize("name", RECORDS)
def test_a_schema_names_the_document_it_is_of(name: str) -> None:
    found = schema(name)
    assert found["properties"]["schema"]["const"] == f"judgeharness.{name.replace('-', '/')}"
    assert found["required"][0] == "schema"


def test_nothing_is_described_that_is_not_there() -> None:
    records = {record.__name__: record for record in every(Record)}
    for name, told in DESCRIPTIONS.items():
        assert {*told} <= {*records[name].model_fields}, name


def every(record: type[Record]) -> Iterator[type[Record]]:
    for one in record.__subclasses__():
        yield one
        yield from every(one)


def test_what_a_folder_holds_follows_the_schemas(tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "b", n=6, failed={1: verification("adherence")})
    with folder.log() as log:
        log.append(judged(folder.pairs()))
    write_judgments(read_results(folder), folder)
    label_log(folder.path, "ann").append("pair-00001", "clean", "fine")
    write_assignment(folder.path, assign(["pair-00001"], annotators=["ann"], n=1))
    checked: dict[str, int] = {}
    for path in sorted(path for path in folder.path.rglob("*.json*") if path.suffix in (".json", ".jsonl")):
        for document in documents(path):
            name = document.get("schema")
            if name is not None:
                Draft202012Validator(schema(name)).validate(document)
                checked[name] = checked.get(name, 0) + 1
    assert {name: count > 0 for name, count in checked.items()} == {
        f"judgeharness.{name}/1": True
        for name in (
            *("benchmark", "benchmark_document", "benchmark_pair", "benchmark_judgment", "audit_label"),
            "audit_assignment",
        )
    }


def documents(path: Path) -> list[Any]:
    text = path.read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]
