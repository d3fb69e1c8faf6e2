"""What a check does to its test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import judgeharness_integrations.judging.harness
import judgeharness_integrations.testing.pytest_plugin.ending
import judgeharness_integrations.testing.pytest_plugin.suite  # noqa: F401 - loaded once, not by each suite anew

pytest_plugins = ["pytester"]
Run = Callable[..., pytest.RunResult]


@pytest.mark.slow
def test_a_decision_passes_and_its_result_is_returned(run: Run) -> None:
    ran = run(
        """
def test_check(judgeharness):
    result = judgeharness.check(passes, CASE)
    assert result.verdict == "PASS" and result.usage.calls == 6
    assert judgeharness.check(fails, CASE, expected={"FAIL", "ABSTAIN"}).verdict == "FAIL"
    assert judgeharness.check(fails, CASE, expected={"verdict": "FAIL"}).only.criterion == "verdict"

def test_call(judgeharness):
    assert judgeharness(undecided, CASE).status == "abstained"
    assert judgeharness.check(undecided, CASE, expected="ABSTAIN").verdict == "ABSTAIN"
    assert [r.verdict for r in judgeharness.evaluate_many(passes, [CASE, CASE])] == ["PASS", "PASS"]
    assert repr(judgeharness) == "judgeharness"

def test_pair(judgeharness):
    result = judgeharness(first, PAIR, judge_model="gpt-4o")
    assert result.aggregation_rule == "swap_consensus" and result.judge_model == "gpt-4o"
    assert judgeharness.harness.design.rule.name == "supermajority(2/3) | median"

def test_scores(judgeharness):
    assert judgeharness.check(scores, CASE, at_least=6, at_most=8).verdict == 7
    assert judgeharness.check(scores, CASE, expected=7).verdict == 7
"""
    )
    ran.assert_outcomes(passed=4)


@pytest.mark.slow
def test_another_decision_fails_with_a_short_report(run: Run) -> None:
    ran = run(
        """
def reasoned(case):
    from judgeharness_integrations import Judgment
    from judgeharness_integrations.judging.judge import Answer
    seen = "*" in case.output
    verdict, why = ("PASS", "warm \\x1b[31m words") if seen else ("FAIL", "cold words")
    return Judgment(answers=(Answer(criterion="tone", verdict=verdict, reasoning=why),))

@__import__("pytest").mark.judgeharness(
    aggregation_rule="majority", perturbations=["none", "format_change", "whitespace"], repetitions=1, min_valid=1
)
def test_it(judgeharness):
    judgeharness.check(reasoned, CASE, expected="FAIL")

def test_score(judgeharness):
    judgeharness.check(scores, CASE, at_least=8)

def test_high_score(judgeharness):
    judgeharness.check(scores, CASE, at_most=3)

def test_wrong_number(judgeharness):
    judgeharness.check(scores, CASE, expected=(1, 2))
"""
    )
    ran.assert_outcomes(failed=4)
    shown = ran.stdout.str()
    ran.stdout.fnmatch_lines(
        [
            "E   AssertionError: judge 'reasoned' decided PASS on case 'greeting', expected FAIL",
            "E     2 PASS, 1 FAIL of 3 · majority · consistency 0.67 · uncalibrated",
            "E     sample_distribution: {PASS: 2, FAIL: 1}",
            "E     rationale: warm [[]31m words",
            "E     strongest dissent, FAIL: cold words",
        ]
    )
    assert "decided 7 on case 'greeting', expected at least 8" in shown
    assert "expected at most 3" in shown
    assert "expected 1 or 2" in shown
    assert "\x1b" not in shown
    assert "asking.py" not in shown  # the traceback ends in the test


@pytest.mark.slow
def test_an_abstention_fails_skips_or_passes(run: Run) -> None:
    ran = run(
        """
import pytest

def test_fail(judgeharness):
    judgeharness.check(undecided, CASE)

def test_skip(judgeharness):
    judgeharness.check(undecided, CASE, on_abstain="skip")

@pytest.mark.judgeharness(on_abstain="pass")
def test_pass(judgeharness):
    assert judgeharness.check(undecided, CASE).status == "abstained"

def test_unknown(judgeharness):
    judgeharness.check(undecided, CASE, on_abstain="skipp")
""",
        "-rs",
    )
    ran.assert_outcomes(failed=2, skipped=1, passed=1)
    shown = ran.stdout.str()
    assert "AssertionError: abstained: judge 'undecided' is of two minds about case 'greeting'" in shown
    assert "abstained: judge 'undecided'" in shown.partition("SKIPPED")[2]
    assert "unknown on_abstain 'skipp': did you mean 'skip'?" in shown


def test_what_is_not_graded_is_an_error(run: Run) -> None:
    ran = run("\ndef test_it(judgeharness):\n    judgeharness.check(broken, CASE, on_abstain='pass')\n")
    ran.assert_outcomes(errors=1)
    assert ran.ret == pytest.ExitCode.TESTS_FAILED
    ran.stdout.fnmatch_lines(
        ["*NotGradedError: not graded: judge 'broken' gave no verdict on case 'greeting': 0 valid of 6 samples*"]
    )


def test_an_evaluator_that_is_down_is_an_error_of_the_test_too(run: Run) -> None:
    ran = run(
        """
from judgeharness_integrations.analysis.result import raise_where_all_failed

def test_it(judgeharness):
    raise_where_all_failed([judgeharness(broken, CASE)])
"""
    )
    ran.assert_outcomes(errors=1)
    ran.stdout.fnmatch_lines(["*NotGradedError: not graded: all 6 samples failed (* 6), the first with *: check *"])


def test_an_inconsistent_judge_fails_where_consistency_is_asked_for(run: Run) -> None:
    ran = run(
        """
import pytest

THREE = {"perturbations": ["none", "format_change", "whitespace"], "repetitions": 1}

@pytest.mark.judgeharness(aggregation_rule="majority", min_consistency=0.9, **THREE)
def test_marked(judgeharness):
    judgeharness.check(undecided, CASE)

@pytest.mark.judgeharness(min_consistency=0.9)
def test_overruled(judgeharness):
    judgeharness.check(undecided, CASE, on_abstain="pass", min_consistency=0.1)
"""
    )
    ran.assert_outcomes(failed=1, passed=1)
    ran.stdout.fnmatch_lines(
        ["*judge 'undecided' is at odds with itself on case 'greeting': consistency 0.667, at least 0.9"]
    )


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("check(scores, CASE)", "the judge gives scores: say at_least=, at_most= or expected= with a number."),
        ("check(scores, CASE, 'PASS')", "'verdict' is a score: give at_least=, at_most= or a number as expected."),
        ("check(passes, CASE, at_least=3)", "at_least and at_most are limits of scores"),
        ("check(passes, CASE, {'tone': 'PASS'})", "criterion 'tone' was not judged: expect something of verdict."),
        ("check(3, CASE)", "a int is not a judge"),
    ],
)
def test_what_cannot_be_compared_says_so(call: str, sentence: str, run: Run) -> None:
    ran = run(f"\ndef test_it(judgeharness):\n    judgeharness.{call}\n")
    ran.assert_outcomes(failed=1)
    assert sentence in ran.stdout.str()


def test_tests_inside_an_event_loop_need_no_plugin(run: Run) -> None:
    ran = run(
        """
import asyncio

async def together(judgeharness):
    many = [judgeharness.acheck(passes, CASE), judgeharness.aevaluate(undecided, CASE)]
    return [result.status for result in await asyncio.gather(*many)]

def test_it(judgeharness):
    assert asyncio.run(together(judgeharness)) == ["decided", "abstained"]
"""
    )
    ran.assert_outcomes(passed=1)


def test_a_harness_of_the_test_s_own_is_used(run: Run) -> None:
    ran = run(
        """
from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.judging.execution import Budget

MINE = JudgeHarness.single("labels")
PAID = JudgeHarness.single("labels", budget=Budget(max_calls=1))

def test_it(judgeharness):
    assert judgeharness.check(undecided, CASE, harness=MINE).informal
    assert judgeharness(undecided, CASE, harness=PAID).state == "complete"
    assert judgeharness(undecided, CASE, harness=PAID).state == "budget_exhausted"
    assert MINE.budget is None
""",
        "--judgeharness-max-calls=3",
    )
    ran.assert_outcomes(passed=1)
    ran.stdout.fnmatch_lines(["calls: 1 attempts of 3 allowed"])
