"""The laws of the house that a test can hold."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import judgeharness_integrations as package
from judgeharness_integrations import _lazy as _rendering

ROOT = Path(__file__).parents[1]
CORE = ROOT / "judgeharness_integrations"
ADAPTERS = ROOT / "adapters"
SOURCES = sorted([*CORE.rglob("*.py"), *ADAPTERS.rglob("*.py")])

HEAVY = {
    *("scipy", "pandas", "numpy", "sqlalchemy", "matplotlib", "pydantic", "rich", "typer", "tenacity", "yaml"),
    *("psycopg", "pyarrow", "ray", "filelock", "jinja2", "libcst"),
    *("langchain", "langchain_core", "langchain_classic", "langchain_openai", "langsmith", "openai", "google.adk"),
    *("judgeharness_langchain", "judgeharness_openevals", "judgeharness_langsmith", "judgeharness_adk"),
}
NAMES = [
    "AnswerCase",
    "CalibrationReport",
    "CalibrationSet",
    "Criterion",
    "HarnessResult",
    "JudgeHarness",
    "JudgeHarnessError",
    "JudgeIdentity",
    "Judgment",
    "PairwiseCase",
    "Perturbation",
    "Rule",
    "VerdictRow",
    "read_log",
    "write_log",
]


@pytest.mark.parametrize(
    "program",
    [
        "import judgeharness_integrations",
        "from judgeharness_integrations import *",
        (
            "from judgeharness_integrations import JudgeHarness\n"
            "JudgeHarness.standard('labels').evaluate(lambda case: 'PASS', 'a *case*').report()"
        ),
    ],
    ids=["import", "names", "use"],
)
def test_heavy_parts_load_at_first_use(program: str) -> None:
    printing = f"{program}\nimport sys\nprint(*sorted({{name for name in sys.modules}}))"
    ran = subprocess.run([sys.executable, "-c", printing], capture_output=True, text=True, check=True)  # noqa: S603
    assert not HEAVY & set(ran.stdout.split())


def test_the_top_level_names_are_pinned() -> None:
    assert package.__all__ == NAMES == sorted(NAMES)
    assert len(NAMES) <= 15
    assert set(NAMES) <= set(dir(package))
    for name in NAMES:
        assert getattr(package, name).__name__ == name
        assert inspect.getdoc(getattr(package, name))
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = package.no_such_name


@pytest.mark.parametrize("path", [p for p in SOURCES if p.name == "__init__.py"], ids=str)
def test_every_exported_name_exists(path: Path) -> None:
    root = CORE.parent if path.is_relative_to(CORE) else ADAPTERS
    module = importlib.import_module(".".join(path.parent.relative_to(root).parts))
    names = getattr(module, "__all__", [])
    assert list(names) == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert [name for name in names if not hasattr(module, name)] == []


@pytest.mark.parametrize("key", _rendering._PLACES, ids=" ".join)
def test_every_renderer_that_is_named_takes_the_value_it_is_of(key: tuple[str, str]) -> None:
    value, form = key
    module, _, function = _rendering._PLACES[key].partition(":")
    named = inspect.signature(getattr(importlib.import_module(f"{package.__name__}.{module}"), function))
    first = next(iter(named.parameters.values()))
    assert first.annotation == value or form == "reader"


@pytest.mark.slow  # grimp comes with import-linter, which the default tests do without
def test_no_module_is_in_an_import_circle_lazy_and_typed_imports_included() -> None:
    grimp = pytest.importorskip("grimp")
    folders = sorted(path.name for path in ADAPTERS.iterdir() if (path / "__init__.py").exists())
    graph = grimp.build_graph(CORE.name, *folders, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 300
    assert list(TopologicalSorter(imports).static_order())


def test_the_adapters_root_is_no_package() -> None:
    assert not (ADAPTERS / "__init__.py").exists()


def test_every_adapter_is_in_the_wheel_and_in_the_entry_points() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folders = {path.name for path in ADAPTERS.iterdir() if path.is_dir() and not path.name.startswith(("_", "."))}
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert set(packages) == {"judgeharness_integrations"} | {f"adapters/{folder}" for folder in folders}
    points = project["project"]["entry-points"]["judgeharness.adapters"]
    assert {value.split(":")[0].split(".")[0] for value in points.values()} == folders
    assert {point.name for point in entry_points(group="judgeharness.adapters")} == set(points)
    assert all((path / "py.typed").exists() for path in (CORE, *(ADAPTERS / folder for folder in folders)))


def calls_and_imports(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not _loads_safely(node, tree):
            found.add(_dotted(node.func))
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


def _dotted(function: ast.expr) -> str:
    """Return the name that is called, with its module's; what is no such name is none of those that are looked for."""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return f"{function.value.id}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ""


def _loads_safely(call: ast.Call, tree: ast.AST) -> bool:
    """Whether it is `yaml.load` with a loader that the module derives from the safe one."""
    if _dotted(call.func) != "yaml.load":
        return False
    safe = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["yaml.SafeLoader"]
    }
    return ast.unparse(call.args[-1]) in safe


UNSAFE = {
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen"),
    *("pickle", "marshal", "shelve", "dill", "cloudpickle", "subprocess"),
    *("yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load"),
}


@cache
def read(path: Path) -> tuple[set[str], list[str]]:
    """Return which unsafe names a file uses, and its functions of more than 60 lines; its tree is not kept."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [one for one in ast.walk(tree) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return UNSAFE & calls_and_imports(tree), [one.name for one in functions if _body_lines(one) > 60]


@pytest.mark.untraced
def test_nothing_executes_text_or_loads_objects() -> None:
    found = {str(path.relative_to(ROOT)): read(path)[0] for path in SOURCES}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.untraced
def test_house_numbers() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {path: count for path, count in lines.items() if count > 600} == {}
    assert [f"{path}: {name}" for path in SOURCES for name in read(path)[1]] == []


def _body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of code: signature and docstring are not what makes a function long."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_the_right_half_does_not_load_the_left() -> None:
    program = (
        "import sys\n"
        "import judgeharness_integrations.analysis.aggregation, judgeharness_integrations.analysis.measure\n"
        "print(*(name for name in sys.modules if name.startswith('judgeharness_integrations.judging')))\n"
        "print(*(n for n in ('asyncio', 'socket') if n in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    assert ran.stdout.split() == []
