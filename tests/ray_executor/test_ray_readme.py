"""The page of the example of bigger runs, command by command: SQLite, PostgreSQL, Ray."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.databases import fresh_schema

from judgeharness_integrations.verdictlog import SqlLog, read_log

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```bash\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
PLACEHOLDER = "postgresql+psycopg://USER@HOST/DATABASE"


def page() -> str:
    return (ROOT / "examples" / "bigger_runs" / "README.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    return [line.partition("  #")[0].strip() for block in BLOCK.findall(page()) for line in block.splitlines()]


def code_of(line: str) -> int:
    found = re.search(r"# exit code (\d+)", line)
    return int(found[1]) if found else 0


def summary(folder: Path, name: str) -> Any:
    return json.loads((folder / "runs" / name / "summary.json").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_page_is_followed_command_by_command(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "bigger_runs", tmp_path / "examples" / "bigger_runs")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "RAY_USAGE_STATS_ENABLED": "0", "COLUMNS": "100"}
    shown: dict[str, str] = {}
    with fresh_schema() as url:
        for block in BLOCK.findall(page()):
            for line in block.splitlines():
                if line.startswith("export "):
                    name, _, value = line.removeprefix("export ").partition("=")
                    assert value == PLACEHOLDER
                    environment[name] = url
                    continue
                done = subprocess.run(  # noqa: S602 - the page's own words
                    line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
                )
                assert done.returncode == code_of(line), f"{line}\n{done.stdout}\n{done.stderr}"
                shown[line.partition("  #")[0].strip()] = done.stdout + done.stderr
        with SqlLog(url) as log:
            rows = list(log.rows())
    states = [(summary(tmp_path, name)["state"], summary(tmp_path, name)["attempts_spent"]) for name in ORDER]
    assert states == [("complete", 144), ("complete", 0), ("complete", 144)]
    assert len(rows) == 3 * 144
    decisions = [decided(tmp_path, name) for name in ORDER]
    assert decisions[0] == decisions[1] == decisions[2]
    first = summary(tmp_path, "first")["run"]
    assert summary(tmp_path, "shared")["reused_from"] == {first: 144}
    assert len(read_log(tmp_path / "runs" / "cluster" / "verdicts.jsonl")) == 144
    runs = next(text for command, text in shown.items() if command == "judgeharness runs")
    assert runs.count("complete") == 2
    assert "100.0 of 144" in shown["judgeharness runs runs/first"]


ORDER = ("first", "shared", "cluster")


def decided(folder: Path, name: str) -> dict[str, Any]:
    lines = (folder / "runs" / name / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {one["case_id"]: one["criteria"]["verdict"]["verdict"] for one in map(json.loads, lines)}


def test_the_page_goes_from_sqlite_over_postgresql_to_ray() -> None:
    lines = commands()
    kinds = ("--budget-calls", "JUDGEHARNESS_LOG=", "--engine ray")
    places = [next(n for n, line in enumerate(lines) if kind in line) for kind in kinds]
    assert places == sorted(places)
    assert all(line.startswith(("judgeharness ", "export ")) for line in lines)
