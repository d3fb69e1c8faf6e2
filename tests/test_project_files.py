"""What a repository carries besides code: each file names commands, versions and files that there are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from judgeharness_integrations import __version__
from judgeharness_integrations.cli.app import app

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
COMMAND = re.compile(r"\bjudgeharness ([a-z-]+)((?:[^\n`]|\\\n)*)")
JUDGE = """\
def judge(case):
    return "PASS" if "good" in case.output else "FAIL"
"""
CONFIG = """\
judges: [{name: house, callable: "house_judge:judge", model: house-1}]
cases: cases.csv
harness: {preset: quick, shape: labels}
"""


def loaded(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_says_what_it_may_do(workflow: Path) -> None:
    assert yaml.safe_load(workflow.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_files_that_there_are(workflow: Path) -> None:
    named = re.findall(r"(?:bash|python) ([\w./]+\w)", workflow.read_text(encoding="utf-8"))
    assert [name for name in named if "/" in name and not (ROOT / name).exists()] == []


def test_the_owner_of_the_repository_stands_in_one_place() -> None:
    told = [*ROOT.glob("[!.]*.*"), *ROOT.glob("docs/**/*.md"), *WORKFLOWS]  # not what a measurement leaves beside them
    naming = {path.name for path in told if path.is_file() and "OWNER/" in path.read_text(encoding="utf-8")}
    assert naming == {"pyproject.toml"}


def test_the_citation_is_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert loaded("CITATION.cff")["version"] == project["version"] == __version__


def test_a_skill_says_when_to_use_it() -> None:
    front = yaml.safe_load((ROOT / "SKILL.md").read_text(encoding="utf-8").split("---")[1])
    assert front["name"] == "judge-harness"
    assert len(front["description"]) < 1024


@pytest.mark.parametrize("name", ["SKILL.md", "action.yml", ".pre-commit-hooks.yaml", "docs/reference/frameworks.md"])
def test_commands_and_their_options_are_there(name: str) -> None:
    unknown = []
    for command, options in COMMAND.findall((ROOT / name).read_text(encoding="utf-8")):
        shown = CliRunner().invoke(app, [command, "--help"])
        unknown += [
            (command, option)
            for option in re.findall(r"--[a-z-]+", options)
            if not re.search(rf"{option}\b", shown.output)
        ]
        unknown += [(command, shown.output)] if shown.exit_code else []
    assert unknown == []


def measured(folder: Path, gates: str) -> tuple[int, str]:
    """Run the action's step as GitHub does; return its exit code and its outputs."""
    (folder / "house_judge.py").write_text(JUDGE, encoding="utf-8")
    (folder / "run.yaml").write_text(CONFIG, encoding="utf-8")
    rows = [f"{number},{'good' if number else 'bad'} answer {number}" for number in range(30)]
    (folder / "cases.csv").write_text("\n".join(["case_id,output", *rows]), encoding="utf-8")
    step = next(step for step in loaded("action.yml")["runs"]["steps"] if step.get("id") == "run")
    out = folder / "github_output"
    given = {"CONFIG": "run.yaml", "OUT": "kept", "GATES": gates, "GITHUB_OUTPUT": str(out)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603 - the action's own line
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],  # noqa: S607
        cwd=folder,
        env={**os.environ, **given, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, out.read_text(encoding="utf-8").strip()


@pytest.mark.slow
@pytest.mark.parametrize(("gates", "code"), [("", 0), ("pass_rate>=0.5\nabstention<=0.2", 0), ("pass_rate>=0.99", 1)])
def test_the_action_measures_and_keeps_the_exit_code_for_its_last_step(tmp_path: Path, gates: str, code: int) -> None:
    assert measured(tmp_path, gates) == (0, f"code={code}")
    assert {"report.html", "report.md", "judges.xml"} <= {path.name for path in (tmp_path / "kept").iterdir()}


def test_the_action_fails_with_what_the_command_came_to() -> None:
    last = loaded("action.yml")["runs"]["steps"][-1]
    for code in ("0", "1", "2", "3", ""):
        done = subprocess.run(["bash", "-c", last["run"]], env={**os.environ, "CODE": code}, check=False)  # noqa: S603, S607
        assert done.returncode == int(code or 2)
