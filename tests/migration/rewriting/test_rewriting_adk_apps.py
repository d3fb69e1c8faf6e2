"""ADK's configs whose agent lies elsewhere: found by the tests that evaluate it with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("libcst")

from judgeharness_integrations.migration.rewriting import Migration, migrated
from judgeharness_integrations.migration.scanning import scan

CRITERIA = json.dumps({"criteria": {"final_response_match_v2": 0.5}})
BLOCK = json.dumps({"criteria": {"final_response_match_v2": {"threshold": 0.5, "judge_harness": {"preset": "single"}}}})
AGENT = "from google.adk.agents import Agent\n\nroot_agent = Agent()\n"
EVALUATOR = "from google.adk.evaluation.agent_evaluator import AgentEvaluator\n"
DATA = "tests/evals/rain.test.json"


def project(root: Path, test: str, *, config: str = CRITERIA, package: str = "src/weather") -> Path:
    """Write an app, its data in `tests/evals` and a test in `tests`."""
    texts = {
        f"{package}/__init__.py": "from . import agent\n",
        f"{package}/agent.py": AGENT,
        "tests/evals/test_config.json": config,
        "tests/evals/rain.test.json": "{}",
        "tests/test_weather.py": EVALUATOR + test,
    }
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def changed(root: Path, migration: Migration) -> list[str]:
    return [one.path.relative_to(root).as_posix() for one in migration.changed]


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("", f"evaluate(agent_module='weather', eval_dataset_file_path_or_dir='{DATA}')"),
        ("", "evaluate('weather.agent', 'evals')"),
        (f"MODULE, DATA = 'src.weather', '{DATA}'", "evaluate(MODULE, DATA)"),
        (
            "import os\nHERE = os.path.dirname(__file__)",
            "evaluate('weather', os.path.join(HERE, 'evals', 'rain.test.json'), num_runs=1)",
        ),
        (
            "from pathlib import Path\nHERE = Path(__file__).parent",
            "evaluate(agent_module='weather', eval_dataset_file_path_or_dir=str(HERE / 'evals' / 'rain.test.json'))",
        ),
        ("import pytest", "evaluate('weather', given)"),
        ("import weather.agent", "evaluate(weather.agent.__name__, given)"),
        ("from weather import agent", "evaluate_eval_set(given(), 1)"),
        ("from weather.agent import root_agent", "evaluate(given, 'evals')"),
    ],
)
def test_the_agent_a_test_evaluates_with_a_config_registers(tmp_path: Path, imports: str, call: str) -> None:
    root = project(tmp_path, f"{imports}\nasync def test_it(given):\n    await AgentEvaluator.{call}\n")
    found = migrated([root], "single")
    assert changed(root, found) == ["src/weather/agent.py", "tests/evals/test_config.json"]
    assert all(not one.rewrite.by_hand for one in found.files)
    for one in found.changed:
        one.path.write_text(one.rewrite.after, encoding="utf-8")
    assert "judgeharness_adk.register()" in (root / "src/weather/agent.py").read_text(encoding="utf-8")
    assert migrated([root], "single").changed == ()
    assert (report := scan([root])).judges == report.harnessed == 1


@pytest.mark.parametrize(
    "test",
    [
        "async def test_it():\n    await AgentEvaluator.evaluate('climate', 'evals')\n",
        "async def test_it():\n    await AgentEvaluator.evaluate('weather', '../src')\n",
        "async def test_it():\n    await AgentEvaluator.find_config_for_test_file('evals')\n",
        "async def test_it(other):\n    await other.evaluate('weather', 'evals')\n    evaluate('weather', 'evals')\n",
        "from pytest import mark\nasync def test_it(name):\n    await AgentEvaluator.evaluate(name, 'evals')\n",
        "def (\n",
    ],
)
def test_without_such_a_test_the_step_is_listed(tmp_path: Path, test: str) -> None:
    root = project(tmp_path, test)
    found = migrated([root], "single")
    assert changed(root, found) == ["tests/evals/test_config.json"]
    [hand] = [one for file in found.files for one in file.rewrite.by_hand]
    assert (hand.kind, hand.why) == (
        "register",
        "no agent.py that may be changed stands near it, is evaluated with it by a test named here or is the only one",
    )


@pytest.mark.slow
def test_every_app_that_is_evaluated_with_it_registers(tmp_path: Path) -> None:
    both = "\n".join(f"async def test_{name}():\n    await AgentEvaluator.evaluate('{name}', 'evals')" for name in "ab")
    root = project(tmp_path, both, package="src/a")
    project(root, both, package="src/b")
    assert changed(root, migrated([root], "single")) == [
        "src/a/agent.py",
        "src/b/agent.py",
        "tests/evals/test_config.json",
    ]
    agent = root / "src/a/agent.py"
    agent.write_text(f"import judgeharness_adk\n{AGENT}judgeharness_adk.register()\n", encoding="utf-8")
    assert changed(root, migrated([root], "single")) == ["src/b/agent.py", "tests/evals/test_config.json"]
    assert changed(root, migrated([root], "single", exclude=["b"])) == []


def test_a_module_of_another_name_is_an_agent_where_adk_takes_it_for_one(tmp_path: Path) -> None:
    root = project(
        tmp_path, "async def test_it():\n    await AgentEvaluator.evaluate('pkg.agent', 'evals')\n", package="x"
    )
    (root / "x").rename(root / "other")
    (root / "pkg" / "agent").mkdir(parents=True)
    for name in ("pkg/__init__.py", "pkg/agent/__init__.py"):
        (root / name).write_text(AGENT, encoding="utf-8")
    assert changed(root, migrated([root], "single")) == ["tests/evals/test_config.json"]


@pytest.mark.slow
def test_a_block_nobody_reads_is_found_through_the_test_and_read_where_a_conftest_registers(tmp_path: Path) -> None:
    test = "async def test_it():\n    await AgentEvaluator.evaluate('weather', 'evals')\n"
    root = project(tmp_path, test, config=BLOCK)
    assert [(one.path.name, one.code) for one in scan([root]).findings] == [("test_config.json", "JH011")]
    (root / "tests/conftest.py").write_text("import judgeharness_adk\njudgeharness_adk.register()\n", encoding="utf-8")
    assert scan([root]).findings == ()


def test_the_only_agent_registers_where_no_test_evaluates_one(tmp_path: Path) -> None:
    root = project(tmp_path, "")
    (root / "tests/test_weather.py").unlink()
    assert changed(root, migrated([root], "single")) == ["src/weather/agent.py", "tests/evals/test_config.json"]
    (root / "src/weather/tools").mkdir()
    (root / "src/weather/tools/agent.py").write_text("helper = 1\n", encoding="utf-8")
    assert changed(root, migrated([root], "single"))[0] == "src/weather/agent.py"
    (root / "src/weather/tools/agent.py").write_text(AGENT, encoding="utf-8")
    assert changed(root, migrated([root], "single")) == ["tests/evals/test_config.json"]
