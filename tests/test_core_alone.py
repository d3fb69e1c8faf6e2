"""What one evaluation needs works by itself: with every application deleted from a copy of the packages."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tokenize
import tomllib
from itertools import product
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[1]
CORE = "judgeharness_integrations"
ADAPTERS = ("adk", "langchain", "langsmith", "openevals")
_CONTRACT = "what one evaluation needs, and its run, replay and report, import no application"
# what may import applications: their commands, their renderers, and what ADK's people do with results
_THEIRS = (f"{CORE}.cli.", f"{CORE}.reporting.", "judgeharness_adk.results")
_ROOMS = ("aggregation", "certifying", "gates", "harness", "perturbations", "reporting_runs", "statistics")


def _applications() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [one for one in project["tool"]["importlinter"]["contracts"] if one["name"] == _CONTRACT]
    return list(contract["forbidden_modules"])


@pytest.fixture(scope="module")
def graph() -> Any:
    """Return which module imports which, at once or lazily."""
    grimp = pytest.importorskip("grimp")  # comes with import-linter, which the default tests do without
    adapters = (f"judgeharness_{name}" for name in ADAPTERS)
    return grimp.build_graph(CORE, *adapters, exclude_type_checking_imports=True, cache_dir=None)


@pytest.fixture(scope="module")
def dependent(graph: Any) -> set[str]:
    """Return the applications and whatever imports one of them, itself or by way of others."""
    applications = _applications()
    assert set(applications) <= graph.modules
    inside = {module for name in applications for module in (name, *graph.find_descendants(name))}
    return inside.union(*(graph.find_downstream_modules(module) for module in inside))


@pytest.fixture(scope="module")
def alone(dependent: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the packages and of some tests, without what depends on an application."""
    copy = tmp_path_factory.mktemp("alone")
    for folder in (CORE, *(f"adapters/judgeharness_{name}" for name in ADAPTERS)):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for module in dependent:
        place = copy / ("" if module.startswith(CORE) else "adapters") / module.replace(".", "/")
        place.with_suffix(".py").unlink(missing_ok=True)
        shutil.rmtree(place, ignore_errors=True)
    (copy / "tests").mkdir()
    for name in ("conftest.py", "support", "data", *_ROOMS):
        source = ROOT / "tests" / name
        (shutil.copy2 if source.is_file() else shutil.copytree)(source, copy / "tests" / name)
    shutil.copy2(ROOT / "pyproject.toml", copy)
    shutil.copytree(ROOT / "examples" / "run_config", copy / "run_config")
    return copy


def _python(copy: Path, *arguments: str, cwd: Path | None = None) -> str:
    """Run the interpreter where the copy goes before the packages that are installed; return what it printed."""
    keys = ("OPENAI_", "LANGSMITH_", "LANGCHAIN_", "PYTEST_", "JUDGEHARNESS_", "GITHUB_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(keys)}
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, (copy, copy / "adapters"))), "COLUMNS": "200"}
    ran = subprocess.run(  # noqa: S603
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd or copy,
        env=environment,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    return ran.stdout


def _command(copy: Path, cwd: Path, *arguments: str) -> str:
    return _python(copy, "-c", f"from {CORE}.cli import main; raise SystemExit(main())", *arguments, cwd=cwd)


def _core(graph: Any) -> set[Path]:
    """Return the files of what one evaluation needs; packages are imported with their modules."""
    files: set[Path] = set()
    left, seen = [f"{CORE}.judging.harness"], set()
    while left:
        module = left.pop()
        if module in seen or not module:
            continue
        seen.add(module)
        left += [*graph.find_modules_directly_imported_by(module), module.rpartition(".")[0]]
        place = ROOT / module.replace(".", "/")
        files.add(place / "__init__.py" if place.is_dir() else place.with_suffix(".py"))
    return files


def _parts() -> list[tuple[set[Path], int, int]]:
    """Return the parts of the core as CONTRIBUTING lists them: its files, how many it may have, and lines of code."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    parts = []
    for row in re.findall(r"(?m)^\| \d+ \|.*\|$", page):
        *_, named, files, lines = row.strip("| ").split(" | ")
        places = {place for pattern in re.findall("`([^`]+)`", named) for place in _places(pattern)}
        parts.append((places, int(files), int(lines.replace(",", ""))))
    return parts


def _places(pattern: str) -> set[Path]:
    if pattern.endswith("/"):
        return set((ROOT / CORE / pattern).rglob("*.py"))
    names = [text.split(",") for text in re.split(r"[{}]", pattern)]
    return {ROOT / CORE / "".join(chosen) for chosen in product(*names)}


def _code_lines(path: Path) -> int:
    """Count lines with code: no docstrings, comments and blank lines."""
    dull = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    with path.open(encoding="utf-8") as file:
        tokens = [one for one in tokenize.generate_tokens(file.readline) if one.type not in dull]
    lines = {line for one in tokens for line in range(one.start[0], one.end[0] + 1)}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(
            node
        ):
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def test_the_core_is_no_larger_than_its_reading_list_says(graph: Any) -> None:
    core, parts = _core(graph), _parts()
    assert core - set().union(*(places for places, _, _ in parts)) == set()
    found = [(len(places & core), sum(map(_code_lines, places & core))) for places, _, _ in parts]
    over = [
        (have, (files, lines))
        for have, (_, files, lines) in zip(found, parts, strict=True)
        if have[0] > files or have[1] > lines
    ]
    assert over == []
    assert min(have[0] for have in found) > 0


def test_only_commands_and_renderers_of_applications_depend_on_them(dependent: set[str]) -> None:
    applications = tuple(f"{name}." for name in _applications())
    others = {module for module in dependent if not f"{module}.".startswith(applications)}
    assert [module for module in sorted(others) if not module.startswith(_THEIRS)] == []
    assert not others & {f"{CORE}.cli.{command}" for command in ("app", "calibrate", "replay", "report", "run")}


def test_every_module_that_is_left_imports(alone: Path) -> None:
    program = (
        "import importlib, pkgutil\n"
        f"for name in ('{CORE}', *(f'judgeharness_{{adapter}}' for adapter in {ADAPTERS})):\n"
        "    package = importlib.import_module(name)\n"
        "    for module in pkgutil.walk_packages(package.__path__, f'{name}.'):\n"
        "        if not module.name.endswith('__main__'):\n"
        "            print(importlib.import_module(module.name).__file__)\n"
    )
    files = _python(alone, "-c", program).splitlines()
    assert len(files) > 200
    assert {file for file in files if not file.startswith(f"{alone}{os.sep}")} == set()


def test_a_run_its_replay_and_its_report_work(alone: Path, tmp_path: Path) -> None:
    config = tmp_path / "run_config"
    shutil.copytree(alone / "run_config", config)
    assert "prefers-longer" in _command(alone, config, "run", "config.yaml", "--yes")
    log = str(config / "results" / "verdicts.sqlite")
    assert "prefers-longer" in _command(alone, config, "replay", log, "--rule", "swap_consensus")
    formats = ("html", "markdown", "junit", "csv")
    _command(alone, config, "report", "results", *(text for name in formats for text in (f"--{name}", f"x.{name}")))
    assert all("prefers-longer" in (config / f"x.{name}").read_text(encoding="utf-8") for name in formats)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_keeps_what_every_adapter_keeps(adapter: str, alone: Path) -> None:
    program = (
        f"from {CORE}.judging.adapters import find_adapter\n"
        f"from {CORE}.testing import check_adapter\n"
        f"report = check_adapter(find_adapter({adapter!r}))\n"
        "report.raise_for_failures()\n"
        "print(sum(one.outcome == 'pass' for one in report.results))\n"
    )
    assert int(_python(alone, "-c", program).split()[-1]) > 10


@pytest.mark.parametrize("room", _ROOMS)
def test_its_own_tests_pass(room: str, alone: Path) -> None:
    ran = _python(alone, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", f"tests/{room}")
    assert " passed" in ran
    assert " failed" not in ran
