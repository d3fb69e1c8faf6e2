"""What workers send and what becomes of it, without processes: a worker is a session whose configuration says so."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import judgeharness_integrations.testing.pytest_plugin.ending
import judgeharness_integrations.testing.pytest_plugin.suite  # noqa: F401 - loaded once, not by each suite anew
from judgeharness_integrations.analysis.runs import read_report
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow

pytest_plugins = ["pytester"]
Run = Callable[..., pytest.RunResult]

WORKER = """
import json
from pathlib import Path

def pytest_configure(config):
    config.workerinput = {"workerid": "gw0", "judgeharness": "calls"}
    config.workeroutput = {}

def pytest_runtest_logreport(report):
    if lines := getattr(report, "judgeharness", None):
        with Path("sent.jsonl").open("a") as file:
            file.write(json.dumps([report.nodeid, lines]) + chr(10))

def pytest_unconfigure(config):
    Path("told.json").write_text(json.dumps(config.workeroutput.get("judgeharness")))
"""

CONTROLLER = """
import json, types
from pathlib import Path

import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    hook, node = session.config.hook, types.SimpleNamespace(workerinput={}, gateway=None)
    hook.pytest_configure_node(node=node)
    assert Path(node.workerinput["judgeharness"]).read_text() == "0"
    told = json.loads(Path("told.json").read_text())
    hook.pytest_xdist_node_collection_finished(node=node, ids=told)
    for line in reversed(Path("sent.jsonl").read_text().splitlines()):
        test, lines = json.loads(line)
        report = pytest.TestReport(test, ("f", 1, "f"), {}, "passed", None, "call", judgeharness=lines)
        hook.pytest_runtest_logreport(report=report)
    node.workeroutput = {"judgeharness": told}
    session.testscollected = len(told)
    hook.pytest_testnodedown(node=node, error=None)
    return True
"""

TESTS = """
import pytest
from judgeharness_integrations import JudgeHarness

def my_own(rows):
    return rows[0].verdict

@pytest.mark.parametrize("number", range(3))
def test_passes(judgeharness, number):
    judgeharness.check(passes, AnswerCase(case_id=f"case{number}", output="Hello *you*"))

def test_rule(judgeharness):
    judgeharness(passes, CASE, harness=JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule=my_own))

@pytest.mark.judgeharness(perturbations=["none"], repetitions=2, aggregation_rule="my_rules:first")
def test_named_rule(judgeharness):
    judgeharness(passes, CASE)

def test_silent(judgeharness):
    pass

@pytest.mark.judgeharness(repetition=3)
def test_marker(judgeharness):
    pass
"""


def first_row(rows: Sequence[VerdictRow]) -> Verdict | None:
    return rows[0].verdict


@pytest.mark.slow
def test_results_travel_and_are_put_in_order(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(my_rules="def first(rows):\n    return rows[0].verdict\n")
    (pytester.path / "calls").write_text("0")
    pytester.makeconftest(WORKER)
    options = ("--judgeharness-max-calls=100", "--judgeharness-out=all.jsonl")
    worker = run(TESTS, *options)
    worker.assert_outcomes(passed=6, errors=1)
    worker.stdout.fnmatch_lines(["*unknown key 'repetition': did you mean 'repetitions'?"])
    assert "= judgeharness =" not in worker.stdout.str()
    assert (pytester.path / "calls").read_text() == "22"
    assert not Path("all.jsonl").exists()
    assert len(json.loads(Path("told.json").read_text())) == 7

    pytester.makeconftest(CONTROLLER)
    controller = run("", *options, "-p", "xdist.plugin")
    assert controller.ret == 1, controller.stdout.str()  # a result could not be read
    cases = [result.case_id for result in read_report("all.jsonl", rule=first_row).results]
    assert cases == ["case0", "case1", "case2", "greeting"]
    controller.stdout.fnmatch_lines(
        [
            "*PASS 100.0 of 3*",
            "calls: 0 attempts of 100 allowed",  # what these workers counted is not in this session's file
            "no result: 3 tests that use the fixture ended without one (crashed, failed or not reached)",
            "test_suite.py::test_rule: a result of a worker cannot be read: rule 'my_own' is a function of the*",
        ]
    )


def test_a_worker_that_cannot_see_the_count_says_so(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makeconftest(WORKER.replace('"calls"', '"no/such/file"'))
    ran = run("\ndef test_it(judgeharness): pass\n", "--judgeharness-max-calls=3")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    assert "which this worker cannot see" in ran.stderr.str()


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ({}, "nothing"),
        ({"execution": {"budget": {"calls": 7}}}, "a file"),
        ({"execution": {"prices": {"*": {"input": 1.0, "output": 1.0}}, "budget": {"tokens": 7}}}, "a usage error"),
    ],
)
def test_only_calls_are_counted_together(
    file: dict[str, object], told: str, run: Run, pytester: pytest.Pytester
) -> None:
    (pytester.path / "suite.json").write_text(json.dumps(file))
    pytester.makeconftest(
        """
import types, pytest

def pytest_sessionstart(session):
    node = types.SimpleNamespace(workerinput={})
    session.config.hook.pytest_configure_node(node=node)
    counted_in = node.workerinput["judgeharness"]
    print("told", "nothing" if counted_in is None else "a file" if open(counted_in).read() == "0" else "?")
"""
    )
    ran = run("\ndef test_it(): pass\n", "--judgeharness-config=suite.json", "-s", "-p", "xdist.plugin")
    if told == "a usage error":
        assert ran.ret == pytest.ExitCode.USAGE_ERROR
        assert "workers of pytest-xdist share a limit of calls alone" in ran.stderr.str()
    else:
        ran.stdout.fnmatch_lines([f"*told {told}*"])


@pytest.mark.slow
def test_many_verdicts_skipped_perturbations_and_expired_calibrations_are_told(
    run: Run, pytester: pytest.Pytester
) -> None:
    (pytester.path / "labels.csv").write_text("case_id,input,output,gold\nc1,x,Hello *1*,PASS\nc2,x,Hello *2*,PASS\n")
    ran = run(
        """
import pytest
from judgeharness_integrations import CalibrationSet, JudgeHarness, JudgeIdentity
from judgeharness_integrations.testing import ScriptedJudge

@pytest.mark.parametrize("number", range(8))
def test_labels(judgeharness, number):
    judgeharness(lambda case: f"L{number}", AnswerCase(case_id=f"c{number}", output="Hello *you*"))

@pytest.mark.judgeharness(preset="thorough", shape="labels")
def test_plain(judgeharness):
    judgeharness(passes, AnswerCase(case_id="plain", output="Yes"))

def test_expired(judgeharness):
    judge = ScriptedJudge(["PASS"], name="known", identity=JudgeIdentity(name="known", model="m"))
    saved = JudgeHarness.single("labels").calibrate(judge, CalibrationSet.from_file("labels.csv", name="people"))
    judgeharness(judge, CASE, harness=JudgeHarness.quick("labels", calibration=saved))
"""
    )
    ran.assert_outcomes(passed=10)
    ran.stdout.re_match_lines(
        [
            r"judge +L0 12.5 of 8",
            r"passes: \w+ did not fit 1 of 1 case and was skipped",
            r"known: uncalibrated: the calibration on people is expired",
        ]
    )
