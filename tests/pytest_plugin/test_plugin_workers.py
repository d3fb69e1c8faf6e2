"""Sessions whose tests run in several processes."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from judgeharness_integrations.analysis.runs import read_report
from judgeharness_integrations.judging.execution.retrying import BudgetExhausted
from judgeharness_integrations.testing.pytest_plugin.suite import SharedBudget

pytest_plugins = ["pytester"]
Run = Callable[..., pytest.RunResult]

XDIST = ("-p", "xdist.plugin")

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(6))
def test_passes(judgeharness, number):
    case = AnswerCase(case_id=f"case{number}", output="Hello *you*")
    judgeharness(passes, case, judge_model="gpt-4o")

def test_broken(judgeharness):
    judgeharness.check(broken, CASE)

def test_plain():
    assert True
"""


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["load", "loadfile", "worksteal"])
def test_workers_make_one_report_in_the_order_of_tests(distribution: str, run: Run) -> None:
    options = ("--judgeharness-out=all.jsonl", "--judgeharness-fail-under=pass_rate>=0.5", "--junitxml=tests.xml")
    ran = run(TESTS, *XDIST, "-n2", f"--dist={distribution}", *options, apart=True)
    ran.assert_outcomes(passed=7, errors=1)
    results = read_report("all.jsonl").results
    assert [result.case_id for result in results] == [*(f"case{number}" for number in range(6)), "greeting"]
    assert {result.judge_model for result in results[:6]} == {"gpt-4o"}
    ran.stdout.re_match_lines(
        [r"passes +PASS 100.0 of 6 ", r"broken +- +0.0 +0 +1 ", r"pass_rate>=0.5 +[a-z]+ .*FAILED"]
    )
    assert ran.stdout.str().count("= judgeharness =") == 1
    cases = list(ET.parse("tests.xml").getroot().iter("testcase"))  # noqa: S314 - our own
    told = [one for case in cases for one in case.iter("property") if one.get("name") == "judgeharness.verdict"]
    assert len(told) == 7


@pytest.mark.slow
def test_a_worker_that_dies_loses_only_the_test_it_was_at(run: Run) -> None:
    tests = """
import os

def test_first(judgeharness):
    judgeharness(passes, AnswerCase(case_id="first", output="Hello *you*"))

def test_dies(judgeharness):
    judgeharness(passes, AnswerCase(case_id="dies", output="Hello *you*"))
    os._exit(3)

def test_last(judgeharness):
    judgeharness(passes, AnswerCase(case_id="last", output="Hello *you*"))
"""
    ran = run(tests, *XDIST, "-n1", "--judgeharness-out=all.jsonl", "--judgeharness-max-calls=100", apart=True)
    ran.assert_outcomes(passed=2, failed=1)
    assert [result.case_id for result in read_report("all.jsonl").results] == ["first", "last"]
    ran.stdout.fnmatch_lines(
        [
            "calls: 18 attempts of 100 allowed",
            "no result: 1 tests that use the fixture ended without one (crashed, failed or not reached)",
        ]
    )


@pytest.mark.slow
def test_workers_share_a_limit_of_calls(run: Run) -> None:
    ran = run(TESTS, *XDIST, "-n2", "--judgeharness-max-calls=20", "--judgeharness-out=report.json", apart=True)
    ran.stdout.fnmatch_lines(["calls: 20 attempts of 20 allowed"])
    document = json.loads(Path("report.json").read_text())
    assert document["state"] == "budget_exhausted"


@pytest.mark.slow
def test_a_rule_of_one_s_own_is_found_again(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(my_rules="def all_or_nothing(rows):\n    return rows[0].verdict\n")
    tests = """
import pytest
from judgeharness_integrations import JudgeHarness
from my_rules import all_or_nothing

@pytest.mark.judgeharness(perturbations=["none"], repetitions=2, aggregation_rule="my_rules:all_or_nothing")
def test_named(judgeharness):
    assert judgeharness(passes, CASE).aggregation_rule == "my_rules:all_or_nothing"

def test_unnamed(judgeharness):
    harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule=all_or_nothing)
    judgeharness(passes, CASE, harness=harness)
"""
    ran = run(tests, *XDIST, "-n1", "--judgeharness-out=all.jsonl", apart=True)
    ran.assert_outcomes(passed=2)
    assert ran.ret == 1
    ran.stdout.re_match_lines(
        [
            r"passes +PASS 100.0 of 1 ",
            r"test_suite.py::test_unnamed: a result of a worker cannot be read: rule 'all_or_nothing' is a function",
        ]
    )


@pytest.mark.slow
def test_a_wrong_marker_is_told_by_each_test_of_a_worker(run: Run) -> None:
    tests = """
import pytest

@pytest.mark.judgeharness(repetition=3)
def test_it(judgeharness):
    judgeharness(passes, CASE)

def test_other(judgeharness):
    judgeharness(passes, CASE)
"""
    ran = run(tests, *XDIST, "-n1", apart=True)
    ran.assert_outcomes(errors=1, passed=1)
    ran.stdout.fnmatch_lines(["*unknown key 'repetition': did you mean 'repetitions'?"])


@pytest.mark.slow
def test_money_cannot_be_counted_by_workers(run: Run, pytester: pytest.Pytester) -> None:
    limits = {"prices": {"*": {"input": 1.0, "output": 2.0}}, "budget": {"cost": 5.0}}
    (pytester.path / "suite.json").write_text(json.dumps({"execution": limits}))
    ran = run(TESTS, *XDIST, "-n1", "--judgeharness-config=suite.json", apart=True)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines(["*suite.json: workers of pytest-xdist share a limit of calls alone*"])


@pytest.mark.slow
@pytest.mark.parametrize("options", [(*XDIST, "-n0"), ()])
def test_without_workers_it_is_the_same(options: tuple[str, ...], run: Run) -> None:
    tests = "\ndef test_it(judgeharness):\n    judgeharness.check(passes, CASE)\n"
    ran = run(tests, *options, "--judgeharness-max-calls=6", apart=True)
    ran.assert_outcomes(passed=1)
    ran.stdout.fnmatch_lines(["calls: 6 attempts of 6 allowed"])


def test_a_shared_budget_counts_what_everybody_takes(tmp_path: Path) -> None:
    counted = tmp_path / "calls"
    counted.write_text("0")
    mine, other = (SharedBudget(max_calls=3, counted_in=counted) for _ in range(2))
    mine.take()
    other.take()
    other.give_back()
    other.take()
    mine.take()
    for budget in (mine, other):
        with pytest.raises(BudgetExhausted, match="max_calls=3 reached"):
            budget.take()
    assert (mine.spent, other.spent, counted.read_text()) == (2, 1, "3")
