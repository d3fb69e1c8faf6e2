"""What a session shows, writes and ends with."""

from __future__ import annotations

import csv
import importlib.util
import json
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

import judgeharness_integrations.analysis.gates
import judgeharness_integrations.reporting.rundocument
import judgeharness_integrations.testing.pytest_plugin.ending
import judgeharness_integrations.testing.pytest_plugin.suite  # noqa: F401 - loaded once, not by each suite anew
from judgeharness_integrations.analysis.runs import read_report
from judgeharness_integrations.testing.pytest_plugin.ending import FILES

pytest_plugins = ["pytester"]
Run = Callable[..., pytest.RunResult]
PLUGIN = "judgeharness_integrations.testing.pytest_plugin"

MIXED = """
import pytest

@pytest.mark.parametrize("number", range(4))
def test_passes(judgeharness, number):
    judgeharness(passes, AnswerCase(case_id=f"case{number}", input=str(number), output="Hello *you*"))

def test_abstains(judgeharness):
    judgeharness(undecided, CASE)

def test_broken(judgeharness):
    judgeharness(broken, CASE)

def test_scores(judgeharness):
    for number in (6, 8):
        judgeharness(lambda case: number, AnswerCase(case_id=f"s{number}", input=str(number), output="Hello *you*"))

def test_skipped(judgeharness):
    pytest.skip("not today")
"""


@pytest.mark.slow
def test_a_session_shows_what_its_judges_came_to(run: Run) -> None:
    ran = run(MIXED)
    ran.assert_outcomes(passed=7, skipped=1)
    assert ran.ret == 0
    ran.stdout.re_match_lines(
        [
            r"=+ judgeharness =+",
            r"judge +% of cases +% of cases +stained +graded +\(chance\)",
            r"passes +PASS 100.0 of 4 +100.0 +0 +0 +100.0",
            r" +\[51.0, 100.0\] +\(65.6\)",
            r"undecided +PASS 0.0 of 1 +0.0 +1 +0 +50.0",
            r"broken +- +0.0 +0 +1 +-",
            r"judge +mean 7.000 +100.0 +0 +0 +100.0",
            r"passes: uncalibrated: how often this rule is right was not measured",
            r"passes: 24 calls",
        ]
    )
    assert "no result" not in ran.stdout.str()


NO_JUDGE = (
    "\ndef test_it(): pass\ndef test_fixture(judgeharness): pass\n",
    "-k",
    "test_it",
    "--judgeharness-out=report",
)


def test_a_suite_that_asks_no_judge_sees_nothing(run: Run) -> None:
    ran = run(*NO_JUDGE)
    ran.assert_outcomes(passed=1, deselected=1)
    assert ran.ret == 0
    assert "= judgeharness" not in ran.stdout.str()
    assert not Path("report").exists()


def test_gates_of_a_session_that_asked_no_judge_are_said_not_to_be_checked(run: Run) -> None:
    ran = run(*NO_JUDGE, "--judgeharness-fail-under=pass_rate>=0.9")
    assert ran.ret == 0
    ran.stdout.fnmatch_lines(["gates: not checked, nothing was measured"])
    assert not Path("report").exists()


def test_a_collection_asks_nothing_and_shows_nothing(run: Run) -> None:
    ran = run(MIXED, "--collect-only", "-q")
    assert ran.ret == 0
    assert "= judgeharness" not in ran.stdout.str()


def test_tests_without_a_result_are_counted(run: Run) -> None:
    ran = run("\ndef test_it(judgeharness):\n    assert False\ndef test_next(judgeharness): pass\n", "-x")
    ran.assert_outcomes(failed=1)
    ran.stdout.fnmatch_lines(
        ["no result: 2 tests that use the fixture ended without one (crashed, failed or not reached)"]
    )


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("options", "code", "lines"),
    [
        (("--judgeharness-fail-under=pass_rate>=0.35",), 0, ["gates: every gate passed", "pass_rate>=0.35 * passed"]),
        (
            ("--judgeharness-fail-under=pass_rate>=0.9",),
            1,
            ["gates: 1 of 1 gate checks did not pass", "pass_rate>=0.9 * FAILED"],
        ),
        (("--judgeharness-max-abstention=0.65", "--judgeharness-min-consistency=0.2"), 0, ["gates: every gate passed"]),
        (("--judgeharness-require-calibration",), 1, ["gates: 1 of 1 gate checks did not pass"]),
        (("--judgeharness-fail-under=mean_score>=5",), 4, ["gates: *mean_score*"]),
    ],
)
def test_gates_decide_how_a_session_ends(options: tuple[str, ...], code: int, lines: list[str], run: Run) -> None:
    tests = """
import pytest

@pytest.mark.parametrize("number", range(4))
def test_passes(judgeharness, number):
    judgeharness(passes, AnswerCase(case_id=f"case{number}", input=str(number), output="Hello *you*"))
"""
    ran = run(tests, *options)
    ran.assert_outcomes(passed=4)
    assert ran.ret == code
    ran.stdout.fnmatch_lines([f"*{line}*" for line in lines])


@pytest.mark.slow
def test_the_command_line_wins_over_the_file(run: Run) -> None:
    ini = 'judgeharness_fail_under = ["pass_rate>=0.9"]\njudgeharness_require_calibration = true\n'
    test = "\ndef test_it(judgeharness):\n    judgeharness(passes, CASE)\n"
    assert run(test, ini=ini).ret == 1
    ran = run(
        test, "--judgeharness-fail-under=pass_rate>=0.02", "-o", "judgeharness_require_calibration=false", ini=ini
    )
    assert ran.ret == 0


def test_a_failed_test_stays_what_it_is_when_gates_pass(run: Run) -> None:
    ran = run(
        "\ndef test_it(judgeharness):\n    judgeharness.check(fails, CASE)\n", "--judgeharness-max-abstention=0.98"
    )
    assert ran.ret == 1
    ran.stdout.fnmatch_lines(["gates: every gate passed"])


def test_a_session_ends_with_the_gate_that_a_constant_judge_passed(run: Run) -> None:
    tests = """
import pytest

@pytest.mark.parametrize("number", range(40))
def test_passes(judgeharness, number):
    case = AnswerCase(case_id=f"case{number}", output=f"Hello *{number}*", gold="PASS" if number else "FAIL")
    judgeharness(passes, case)
"""
    said = "gates: passed, but not better than a judge that always answers PASS (98 %)"
    ran = run(tests, "--judgeharness-fail-under=accuracy>=0.8")
    assert ran.ret == 0
    lines = " ".join(ran.stdout.str().split())
    assert f"gates: every gate {said.removeprefix('gates: ')}" in lines
    assert lines.partition("= judgeharness =")[2].partition(" ==")[0].endswith(said)


@pytest.mark.slow
def test_reports_are_written_in_every_format(run: Run) -> None:
    ran = run(
        MIXED, "--judgeharness-out=deep/report", "--judgeharness-out=alone.jsonl", "--judgeharness-html=page.html"
    )
    ran.assert_outcomes(passed=7, skipped=1)
    assert ran.ret == 0, ran.stdout.str()
    assert {path.name for path in Path("deep/report").iterdir()} == set(FILES)
    assert "<html" in Path("page.html").read_text()
    document = json.loads(Path("deep/report/report.json").read_text())
    assert document["schema"] == "judgeharness.report/1"
    assert ET.parse("deep/report/junit.xml").getroot().tag == "testsuites"  # noqa: S314 - our own
    read = read_report("alone.jsonl")
    assert [result.case_id for result in read.results] == [
        "case0",
        "case1",
        "case2",
        "case3",
        *["greeting"] * 2,
        "s6",
        "s8",
    ]
    assert read.case_texts["case0"]["output"] == "Hello *you*"
    ran.stdout.fnmatch_lines(["written: *alone.jsonl"])


def test_a_report_that_cannot_be_written_fails_the_session(run: Run) -> None:
    tests = """
def test_it(judgeharness, request):
    judgeharness(passes, CASE)
    (request.config.rootpath / "out.json").mkdir()
    (request.config.rootpath / "out.json" / "report.json").mkdir()
"""
    ran = run(tests, "--judgeharness-out=out.json")
    assert ran.ret == 1
    ran.stdout.fnmatch_lines(["*report.json was not written (Is a directory)."])


@pytest.mark.slow
def test_each_evaluation_is_a_group_of_junit_properties(run: Run) -> None:
    tests = """
def test_it(judgeharness):
    judgeharness(passes, CASE, judge_model="gpt-4o")
    judgeharness(lambda case: {"tone": "PASS", "length\\x01": "FAIL"}, PAIR)
    judgeharness(broken, CASE)
"""
    assert run(tests, "--junitxml=tests.xml").ret == 0
    (case,) = ET.parse("tests.xml").getroot().iter("testcase")  # noqa: S314 - our own
    found = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert found["judgeharness.verdict"] == "PASS"
    assert found["judgeharness.status"] == "decided"
    assert found["judgeharness.judge_model"] == "gpt-4o"
    assert found["judgeharness.distribution"] == "{PASS: 6}"
    assert found["judgeharness.consistency"] == "1.0"
    assert found["judgeharness.rule"] == "supermajority(2/3) | median"
    assert found["judgeharness.calls"] == "6"
    assert found["judgeharness.calibration"] == "uncalibrated"
    assert found["judgeharness.2.tone.verdict"] == "PASS"
    assert found["judgeharness.2.length.verdict"] == "FAIL"
    assert (found["judgeharness.3.verdict"], found["judgeharness.3.status"]) == ("none", "not_graded")
    assert found["judgeharness.3.samples"] == "0 valid of 6"


@pytest.mark.slow
def test_hostile_texts_cannot_steer_the_terminal(run: Run) -> None:
    tests = """
import pytest

@pytest.mark.parametrize("text", ["\\x1b[2J\\u202egood", "\\ud83d", "[red]a[/red]", "a\\nFAILED"])
def test_it(judgeharness, text):
    def judge(case):
        return text
    judge.__name__ = text
    case = AnswerCase(case_id=text, output="Hello *you*")
    judgeharness(judge, case)
    judgeharness(judge, case)
    judgeharness.check(judge, case)
"""
    ran = run(tests, "--judgeharness-fail-under=rate(x)>=0.1", "--judgeharness-out=all.jsonl", "--junitxml=tests.xml")
    ran.assert_outcomes(failed=3, errors=1)
    shown = ran.stdout.str().partition("= judgeharness =")[2]
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[red]a[/red]" in shown
    assert "a FAILED" in shown
    assert len(read_report("all.jsonl").results) == 12
    ET.parse("tests.xml")  # noqa: S314 - our own


def test_a_case_that_was_asked_about_twice_is_told(run: Run) -> None:
    tests = """
import pytest

@pytest.mark.parametrize("output", ["Hello *you*", "Bye *you*"])
def test_it(judgeharness, output):
    judgeharness(passes, AnswerCase(case_id="same", output=output))
"""
    ran = run(tests, "--judgeharness-out=all.json")
    assert ran.ret == 0
    ran.stdout.fnmatch_lines(
        [
            "passes: warning: 1 result measures a case again: each counts in shares, intervals take *",
            "judge 'passes' was asked 2 times about case 'same'",
        ]
    )


@pytest.mark.slow
def test_of_many_cases_that_were_asked_about_twice_the_first_are_named(run: Run) -> None:
    tests = """
def test_it(judgeharness):
    for number in [*range(8), *range(8)]:
        judgeharness(passes, AnswerCase(case_id=f"c{number}", input=str(number), output="Hello *you*"))
"""
    ran = run(tests, "--judgeharness-out=all.json")
    shown = ran.stdout.str()
    assert shown.count("was asked 2 times") == 6
    assert "and about 2 more cases several times" in shown
    assert "[58.9, 100.0]" in shown  # as eight cases show it, not sixteen


def test_a_budget_is_the_session_s(run: Run) -> None:
    tests = """
def test_whole(judgeharness):
    judgeharness.check(passes, CASE)

def test_cut(judgeharness):
    judgeharness.check(passes, CASE)
"""
    ran = run(tests, "--judgeharness-max-calls=8")
    ran.assert_outcomes(passed=1, errors=1)
    ran.stdout.fnmatch_lines(
        [
            "*not graded: judge 'passes' gave no verdict*",
            "calls: 8 attempts of 8 allowed; judgeharness_max_calls=8 reached",
        ]
    )


@pytest.mark.slow
def test_gates_of_a_file_hold_beside_those_of_options(run: Run, pytester: pytest.Pytester) -> None:
    (pytester.path / "suite.json").write_text(
        json.dumps({"gates": {"max_abstention": 0.98, "fail_under": ["coverage>=0.02"]}})
    )
    test = "\ndef test_it(judgeharness):\n    judgeharness(passes, CASE)\n"
    ran = run(test, "--judgeharness-config=suite.json", "--judgeharness-fail-under=pass_rate>=0.02")
    ran.stdout.fnmatch_lines(
        ["gates: every gate passed", "coverage>=0.02 *passed", "pass_rate>=0.02 *passed", "abstention<=0.98 *passed"]
    )


@pytest.mark.slow
def test_prices_make_a_bill(run: Run, pytester: pytest.Pytester) -> None:
    (pytester.path / "suite.json").write_text(
        json.dumps(
            {
                "harness": {"preset": "single"},
                "execution": {"prices": {"*": {"input": 1.0, "output": 2.0}}, "budget": {"cost": 5.0}},
            }
        )
    )
    tests = """
from judgeharness_integrations import Judgment
from judgeharness_integrations.judging.judge import Answer

def priced(case):
    answers = (Answer(criterion="verdict", verdict="PASS"),)
    return Judgment(answers=answers, input_tokens=1000, output_tokens=500, model="m")

def test_it(judgeharness):
    judgeharness.check(priced, CASE)
"""
    ran = run(tests, "--judgeharness-config=suite.json")
    ran.assert_outcomes(passed=1)
    ran.stdout.fnmatch_lines(["priced: * call*, cost 0.0020 by the prices given"])


@pytest.mark.slow
def test_an_interrupted_session_reports_what_it_has(run: Run) -> None:
    tests = """
def test_whole(judgeharness):
    judgeharness.check(passes, CASE)

def test_stop(judgeharness):
    raise KeyboardInterrupt
"""
    ran = run(tests, "--judgeharness-out=report.json", apart=True)
    assert ran.ret == pytest.ExitCode.INTERRUPTED
    document = json.loads(Path("report.json").read_text())
    assert document["state"] == "interrupted"


@pytest.mark.slow
def test_the_plugin_can_be_left_out(run: Run) -> None:
    ran = run("\ndef test_it(judgeharness): pass\n", "-p", "no:judgeharness", plugin=False)
    ran.assert_outcomes(errors=1)
    ran.stdout.fnmatch_lines(["*fixture 'judgeharness' not found*"])


def test_options_and_marker_are_documented(run: Run) -> None:
    shown = run("", "--help").stdout.str()
    for name in ("preset", "shape", "config", "out", "html", "max-calls", "fail-under", "max-abstention"):
        assert f"--judgeharness-{name}" in shown
        assert f"judgeharness_{name.replace('-', '_')}" in shown
    assert "@pytest.mark.judgeharness(preset=" in run("", "--markers").stdout.str()


@pytest.mark.slow
def test_the_entry_module_loads_nothing(pytester: pytest.Pytester) -> None:
    program = (
        "import pytest, sys, time\nbefore = set(sys.modules)\nstart = time.perf_counter()\n"
        "import judgeharness_integrations.testing.pytest_plugin.hooks\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    ran = pytester.run(sys.executable, "-c", program)
    loaded = [name for name in ran.outlines[0].split() if not name.startswith("judgeharness_integrations")]
    ours = {name.removeprefix("judgeharness_integrations") for name in ran.outlines[0].split()} - set(loaded)
    assert ours == {
        *("", "._lazy", "._version", ".testing", ".testing.pytest_plugin"),
        *(".testing.pytest_plugin.hooks", ".testing.pytest_plugin.options"),
    }
    assert loaded == []


EARLY = [
    *("judgeharness_integrations", "judgeharness_integrations._lazy"),
    "judgeharness_integrations.testing",
    *(PLUGIN, f"{PLUGIN}.hooks", f"{PLUGIN}.options"),
]


@pytest.mark.parametrize("name", EARLY)
def test_modules_that_pytest_loads_early_load_again(name: str) -> None:
    known = importlib.import_module(name)
    assert known.__file__ is not None
    inside = getattr(known, "__path__", None)  # of a package: what it imports beside itself
    spec = importlib.util.spec_from_file_location(name, known.__file__, submodule_search_locations=inside)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    own = {name for name, value in vars(known).items() if getattr(value, "__module__", None) == known.__name__}
    assert own <= {*vars(module)}
    assert getattr(module, "__all__", None) == getattr(known, "__all__", None)


def test_types_of_the_plugin_load_at_first_use() -> None:
    from judgeharness_integrations.testing import pytest_plugin

    assert pytest_plugin.Asking.__name__ == "Asking"
    assert issubclass(pytest_plugin.NotGradedError, Exception)


MIGRATED = """
from judgeharness_integrations import JudgeHarness

def test_with_a_harness_of_its_own():
    case = AnswerCase(case_id="own", output="Hello *you*")
    assert JudgeHarness.quick("labels").evaluate(passes, case).verdict == "PASS"

def test_with_the_fixture(judgeharness):
    judgeharness(passes, AnswerCase(case_id="fixture", output="Hello *you*"))
"""


@pytest.mark.slow
def test_a_report_takes_in_what_migrated_evaluators_measure(run: Run, pytester: pytest.Pytester) -> None:
    ran = run(MIGRATED, "--judgeharness-out", "all.jsonl")
    ran.assert_outcomes(passed=2)
    report = read_report(pytester.path / "all.jsonl")
    assert [result.case_id for result in report.results] == ["own", "fixture"]  # each once
    assert report.case_texts["own"] == {"output": "Hello *you*"}


KEYED = """
import pytest

@pytest.mark.parametrize("key", ["sk-abcdef012345", "sk-abcdef543210"])
def test_one(judgeharness, key):
    judgeharness(passes, CASE)
"""


@pytest.mark.slow
def test_no_secret_among_a_tests_parameters_is_written_down(run: Run, pytester: pytest.Pytester) -> None:
    ran = run(KEYED, "--judgeharness-out", "out")
    ran.assert_outcomes(passed=2)
    assert "no result" not in ran.stdout.str()
    out = pytester.path / "out"
    asked = [result.test for result in read_report(out / "recorded.jsonl").results]
    assert asked == ["test_suite.py::test_one[[redacted]]"] * 2
    assert not [file for file in out.rglob("*") if file.is_file() and "sk-abcdef" in file.read_text(encoding="utf-8")]


@pytest.mark.slow
def test_reports_say_which_test_asked(run: Run, pytester: pytest.Pytester) -> None:
    ran = run(MIGRATED, "--judgeharness-out", "out")
    ran.assert_outcomes(passed=2)
    out, name = pytester.path / "out", "test_suite.py::test_with"
    asked = [f"{name}_a_harness_of_its_own", f"{name}_the_fixture"]
    assert [result.test for result in read_report(out / "recorded.jsonl").results] == asked
    document = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert [(one["test"], one["case_id"]) for one in document["tests"]] == [(asked[0], "own"), (asked[1], "fixture")]
    table = csv.DictReader((out / "cases.csv").read_text(encoding="utf-8").splitlines())
    assert [row["test"] for row in table] == asked
    suites = ET.parse(out / "junit.xml").getroot()  # noqa: S314 - our own
    assert [one.get("value") for one in suites.iterfind(".//testcase//property[@name='test']")] == asked
    page = (out / "report.html").read_text(encoding="utf-8")
    assert all(json.dumps(["Test", test], separators=(",", ":")) in page for test in asked)


@pytest.mark.slow
def test_where_nothing_is_asked_of_the_session_the_fixture_alone_is_shown(run: Run) -> None:
    ran = run(MIGRATED)
    ran.assert_outcomes(passed=2)
    ran.stdout.re_match_lines([r"passes +PASS 100.0 of 1"])


TWO_OF_ONE_NAME = """
from judgeharness_integrations import JudgeIdentity
from judgeharness_integrations.testing import ScriptedJudge

def test_both(judgeharness):
    for prompt in ("is it right?", "is it kind?"):
        identity = JudgeIdentity(name="grade", model="m", prompt_hash=prompt)
        judgeharness(ScriptedJudge(["PASS"], name="grade", identity=identity), CASE)
"""


def test_two_judges_of_one_name_about_one_case_are_no_repetition(run: Run) -> None:
    ran = run(TWO_OF_ONE_NAME)
    ran.assert_outcomes(passed=1)
    shown = ran.stdout.str()
    assert "asked 2 times" not in shown
    assert shown.count(" of 1 ") == 2
