"""A suite in a folder of its own, with the plugin switched on whether it is installed or not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

PLUGIN = "judgeharness_integrations.testing.pytest_plugin"

SUITE = """
from judgeharness_integrations import AnswerCase, PairwiseCase

CASE = AnswerCase(case_id="greeting", input="Say hello.", output="Hello **there**")
PAIR = PairwiseCase(case_id="pair", input="Say hello.", output="Hello", output_b="Hi")

def passes(case):
    return "PASS"

def fails(case):
    return {"verdict": "FAIL"}

def undecided(case):
    return "PASS" if "*" in case.output else "FAIL"

def broken(case):
    raise ValueError("out of order")

def first(case):
    return "A"

def scores(case):
    return 7
"""

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Write a test file of judges and the given tests, and run it: `run(tests, *options)`.

    No other plugin is loaded but what `-p` names; with `plugin=False` those that are installed are.
    """

    def made(tests: str, *options: str, apart: bool = False, ini: str = "", plugin: bool = True) -> pytest.RunResult:
        pytester.makepyprojecttoml(f"[tool.pytest.ini_options]\n{ini}")
        pytester.makepyfile(test_suite=SUITE + tests)
        if plugin:
            monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        start = pytester.runpytest_subprocess if apart else pytester.runpytest_inprocess
        switched_on = ("-p", PLUGIN) if plugin else ()
        return start(*switched_on, "-p", "no:cacheprovider", "--strict-markers", "--tb=short", *options)

    return made
