"""The examples run offline, as they stand."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from judgeharness_integrations import read_log

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(*command: str, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment, timeout=90)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_changed_line(tmp_path: Path) -> None:
    shown = run(sys.executable, str(EXAMPLES / "langchain_one_line.py"), cwd=tmp_path)
    assert "one call:    A 1" in shown
    assert "harnessed:   None None abstained" in shown


def test_a_configured_run(tmp_path: Path) -> None:
    folder = shutil.copytree(EXAMPLES / "run_config", tmp_path / "run")
    shown = run(str(Path(sys.executable).with_name("judgeharness")), "run", "config.yaml", "--json", cwd=folder)
    summary = json.loads(shown)
    assert summary == json.loads((folder / "results" / "summary.json").read_text(encoding="utf-8"))
    by_judge = {judge["judge"]: judge for judge in summary["judges"]}
    assert by_judge["likes-the-first"]["criteria"][0]["abstained"] == 3
    assert by_judge["prefers-longer"]["criteria"][0]["decided"] == 3
    assert len(read_log(folder / "results" / "verdicts.jsonl")) == 2 * 3 * 6
