"""Blocks of the documentation that are neither Python nor commands: their languages, and data that parses."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.doc_pages import Block, blocks

CHECKED = {
    "python": "tests/test_docs.py runs it",
    "bash": "test_doc_commands.py runs it",
    "yaml": "a configuration: tests/test_docs.py loads it",
    "yml": "data that is no configuration of ours",
    "toml": "data",
    "json": "data",
    "text": "what is printed; compared where it follows a Python block",
    "console": "what a terminal shows",
    "diff": "a change to a file of the reader",
}


def test_every_block_has_a_language_that_something_checks() -> None:
    kinds = Counter(block.kind for block in blocks())
    assert kinds.keys() <= CHECKED.keys()
    assert kinds["python"] > 60


def test_code_is_at_most_as_wide_as_a_page_shows() -> None:
    """Output is as wide as it is printed; what people type or copy has no line beyond the 80th column."""
    wide = [
        f"{block.name}: {line}"
        for block in blocks()
        if block.kind not in {"text", "console"} and block.page.startswith("docs/")
        for line in block.text.splitlines()
        if len(line) > 80
    ]
    pages = Counter(line.partition("#")[0] for line in wide)
    assert wide == [], dict(pages)


def data(kind: str) -> list[Any]:
    return [pytest.param(block, id=block.name) for block in blocks(kind)]


@pytest.mark.parametrize("block", data("json"))
def test_json_parses(block: Block) -> None:
    text = block.text.strip()
    assert isinstance(json.loads(text if text.startswith("{") else f"{{{text}}}"), dict)


@pytest.mark.parametrize("block", data("toml"))
def test_toml_parses(block: Block) -> None:
    assert tomllib.loads(block.text)


def test_files_of_a_benchmark_are_read(tmp_path: Path) -> None:
    from judgeharness_integrations.benchmark.taxonomy import load_taxonomy
    from judgeharness_integrations.cli.benchmark.asking import read_model_file

    read = []
    for block in of_a_benchmark():
        path = tmp_path / f"{block.number}.yaml"
        path.write_text(block.text, encoding="utf-8")
        taxonomy = "failure_types" in block.text
        read.append(load_taxonomy(path) if taxonomy else read_model_file(path))
    assert len(read) >= 2


def of_a_benchmark() -> list[Block]:
    """Taxonomies, and files of models and prices."""
    return [block for block in blocks("yml") if re.match(r"extends:|options:|prices:", block.text)]


@pytest.mark.parametrize("block", [block for block in data("yml") if block.values[0] not in of_a_benchmark()])
def test_a_workflow_calls_commands_that_exist_and_gates_are_gates(block: Block) -> None:
    from judgeharness_integrations.cli.app import app
    from judgeharness_integrations.judging.config.schema import GatesConfig

    workflow = yaml.safe_load(block.text)
    if set(workflow) == {"gates"}:
        assert GatesConfig.model_validate(workflow["gates"]).asked()
        return
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    called = [step["run"].split()[1] for step in steps if step.get("run", "").startswith("judgeharness ")]
    assert called
    assert set(called) <= {command.name for command in app.registered_commands}


def test_pyproject_blocks_of_the_pytest_page_name_options_of_the_plugin() -> None:
    from judgeharness_integrations.testing.pytest_plugin.options import OPTIONS

    [block] = [block for block in blocks("toml") if "pytest.ini_options" in block.text]
    options = tomllib.loads(block.text)["tool"]["pytest"]["ini_options"]
    assert options.keys() <= {f"judgeharness_{option.name}" for option in OPTIONS}
