"""The sources of installed packages, against a list that was reviewed by hand."""

from __future__ import annotations

import ast
import json
from collections import Counter
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.migration.scanning import scan

REVIEWED: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "installed_judges.json").read_text())
Key = tuple[str, str, str]


def home(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@cache
def functions(path: Path) -> tuple[tuple[int, int, str], ...]:
    """(first line, last line, name) of every function, the inner ones last."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    found = (node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return tuple(sorted((node.lineno, node.end_lineno or node.lineno, node.name) for node in found))


def function_at(path: Path, line: int) -> str:
    return [name for first, last, name in functions(path) if first <= line <= last][-1]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("package", "least_precision", "least_recall"),
    [("openevals", 1.0, 1.0), ("langchain_classic", 4 / 9, 4 / 21)],
)
def test_precision_and_recall_on_installed_sources(
    package: str, least_precision: float, least_recall: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """LangChain's own chains ask themselves (`self(...)`) with prompts of other files: those are not found."""
    root = home(package)
    report = scan([root])
    found: Counter[Key] = Counter(
        (one.path.relative_to(root).as_posix(), function_at(one.path, one.line), one.code) for one in report.findings
    )
    reviewed = REVIEWED[package]["judges"]
    judges: Counter[Key] = Counter({(path, name, code): n for path, name, code, n, _ in reviewed})
    right = (found & judges).total()
    precision, recall = right / found.total(), right / judges.total()
    with capsys.disabled():
        print(  # noqa: T201 - the two numbers are what this test is for
            f"\nscan, {package}, {report.files} files: precision {right}/{found.total()} = {precision:.3f}, "
            f"recall {right}/{judges.total()} = {recall:.3f}"
        )
    assert report.unreadable == ()
    assert precision >= least_precision, sorted((found - judges).elements())
    assert recall >= least_recall, sorted((judges - found).elements())
    wrong = Counter({(path, name, code): n for path, name, code, n, _ in REVIEWED[package].get("no_judges", ())})
    assert found - judges == wrong
    assert {*found} - {*wrong} == {(path, name, code) for path, name, code, _, seen in reviewed if seen} - {*wrong}
