"""From single calls to a report: the commands of the example, one after the other, and the page they end with."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.browser import started, visiting

ROOT = Path(__file__).parent.parent
EXAMPLE = "examples/single_call_suite"

pytestmark = pytest.mark.slow


def commands() -> list[str]:
    text = (ROOT / EXAMPLE / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```bash\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return block.splitlines()


def clone(folder: Path) -> None:
    """Copy what a clone has of the example, the settings of this project's own tests included."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copy(ROOT / "pyproject.toml", folder)


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of the README in a folder, with this environment's commands, outside of this test session."""
    words = shlex.split(line)
    settings = dict(word.split("=", 1) for word in words if re.match(r"[A-Z_]+=", word))
    command = words[len(settings) :]
    known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV", "GITHUB"))}
    # the example installs pytest alone: an option of one of its plugins would end the command
    bare = " ".join(f"-p no:{plugin}" for plugin in ("xdist", "cov", "pytest_cov", "timeout"))
    environment = {**known, **settings, "PYTHONPATH": "", "PYTEST_ADDOPTS": bare}
    program = str(Path(sys.executable).with_name(command[0]))
    return subprocess.run(  # noqa: S603 - the example's own words
        [program, *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=110
    )


def test_the_readme_has_the_commands_of_the_example() -> None:
    assert "\n".join(commands()) in (ROOT / "README.md").read_text(encoding="utf-8")


def test_five_commands_lead_from_single_calls_to_a_page(tmp_path: Path) -> None:
    clone(tmp_path)
    install, scan, migrate, measure, report = commands()
    assert install.startswith("pip install '.[")

    found = run(scan, tmp_path)
    assert found.returncode == 1, found.stderr
    assert "test_answers.py:7:" in found.stdout
    assert "JH002" in found.stdout

    bare = run(measure, tmp_path)  # as it was: five of six pass, and nothing is recorded, for nothing was measured
    assert "1 failed, 5 passed" in bare.stdout
    assert not (tmp_path / "verdicts.jsonl").exists()

    moved = run(migrate, tmp_path)
    assert moved.returncode == 0, moved.stderr
    assert "harness_evaluator" in (tmp_path / EXAMPLE / "test_answers.py").read_text(encoding="utf-8")

    measured = run(measure, tmp_path)
    assert "4 failed, 2 passed" in measured.stdout, measured.stdout
    written = run(report, tmp_path)
    assert written.returncode == 0, written.stderr
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    with started() as browser, visiting(browser, html, tmp_path) as visit:
        text = visit.page.inner_text("body")
        visit.harmless()
    assert "What is the capital of Peru?" in text
    assert "3 of 6 cases" in text  # abstained


def test_the_first_step_changes_no_verdict(tmp_path: Path) -> None:
    clone(tmp_path)
    _, scan, migrate, measure, _ = commands()
    moved = run(migrate.replace(" --level measured", ""), tmp_path)
    assert moved.returncode == 0, moved.stderr
    assert "1 failed, 5 passed" in run(measure, tmp_path).stdout
    assert run(scan, tmp_path).returncode == 0
