"""The page and the example about pytest, run by pytest."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import judgeharness_integrations.analysis.gates
import judgeharness_integrations.reporting.html
import judgeharness_integrations.reporting.rundocument
import judgeharness_integrations.testing.pytest_plugin.ending
import judgeharness_integrations.testing.pytest_plugin.suite  # noqa: F401 - loaded once, not by each suite anew
from judgeharness_integrations.testing.pytest_plugin.ending import FILES
from judgeharness_integrations.testing.pytest_plugin.options import OPTIONS

pytest_plugins = ["pytester"]
Run = Callable[..., pytest.RunResult]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "use" / "pytest.md").read_text(encoding="utf-8")


def test_the_suite_of_the_page_passes(run: Run) -> None:
    [suite] = re.findall(r"^```python\n# test_answers.py\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    run(suite, "--judgeharness-html=report.html").assert_outcomes(passed=2)
    assert Path("report.html").exists()


def test_the_page_names_every_option() -> None:
    for option in OPTIONS:
        assert f"--judgeharness-{option.name.replace('_', '-')}" in PAGE


@pytest.mark.slow
def test_the_example_runs_as_it_stands(run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    example = ROOT / "examples" / "pytest_suite"
    monkeypatch.delitem(sys.modules, "house_judge", raising=False)  # another example has one of that name
    for path in example.glob("*.py"):
        shutil.copy(path, pytester.path)
    ini = (example / "pyproject.toml").read_text(encoding="utf-8").partition("\n")[2]
    ran = run("", ini=ini)
    ran.assert_outcomes(passed=5, skipped=1)
    assert ran.ret == 0
    assert {path.name for path in Path("report").iterdir()} == set(FILES)
    shown = [
        line.split() for line in re.findall(r"^```console\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[0].split("\n")
    ]
    printed = [line.split() for line in ran.outlines]
    for words in (
        ["is_polite", "PASS", "100.0"],
        ["is_polite:", "uncalibrated:"],
        ["gates:", "every", "gate"],
        ["pass_rate>=0.4", "is_polite"],
    ):
        [told] = [line for line in shown if line[: len(words)] == words]
        assert told in printed
