"""The plugin beside LangSmith's own."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from support.extras import needs

TESTS = """
import pytest
from judgeharness_integrations import AnswerCase

pytest_plugins = ["judgeharness_langsmith.pytest_plugin"]
CASE = AnswerCase(case_id="greeting", output="Hello **there**")

@pytest.mark.langsmith
@pytest.mark.judgeharness(preset="quick")
def test_both(judgeharness, harnessed):
    assert judgeharness.check(lambda case: "PASS", CASE).usage.calls == 2
    assert harnessed(lambda case: "PASS")(CASE).status == "decided"

def test_error(judgeharness):
    def broken(case):
        raise ValueError
    judgeharness.check(broken, CASE)
"""


@needs("langsmith")
@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--langsmith-output",)])
def test_both_fixtures_work_in_one_test(options: tuple[str, ...], tmp_path: Path) -> None:
    tests = TESTS.replace("@pytest.mark.langsmith", "") if options else TESTS  # the table needs tracking to be on
    (tmp_path / "test_suite.py").write_text(tests)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    environment = {"PATH": ""} if options else {"PATH": "", "LANGSMITH_TEST_TRACKING": "false"}
    installed = any(point.name == "judgeharness" for point in entry_points(group="pytest11"))
    switched_on = () if installed else ("-p", "judgeharness_integrations.testing.pytest_plugin")
    command = [sys.executable, "-m", "pytest", *switched_on, *options, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)  # noqa: S603
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "= judgeharness =" in ran.stdout
    assert ("NotGradedError" in ran.stdout) != bool(options)  # LangSmith shows a table instead
    assert ("1 passed, 1 error" in ran.stdout) != bool(options)
