"""What rewords texts belongs to what a calibration was measured with."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from judgeharness_integrations import AnswerCase, CalibrationSet, JudgeHarness, JudgeIdentity
from judgeharness_integrations._errors import PlanError, UsageError
from judgeharness_integrations.testing import ScriptedJudge

CASE = AnswerCase(case_id="c", output="text")
LABELS = CalibrationSet("people", ((CASE, "PASS"),))


def shout(text: str) -> str:
    return text.upper()


def whisper(text: str) -> str:
    return text.lower()


def judge() -> ScriptedJudge:
    return ScriptedJudge(
        ["PASS"], identity=JudgeIdentity(name="j"), supports=["prompt_variant"], instructions="Judge fairly."
    )


def harness(**options: object) -> JudgeHarness:
    arguments: dict[str, object] = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"}
    return JudgeHarness(clock=lambda: datetime(2026, 1, 1, tzinfo=UTC), **arguments | options)  # type: ignore[arg-type]


def test_other_instructions_or_another_rewriter_expire_a_calibration() -> None:
    variants = {"perturbations": ["none", "prompt_variant(1)"], "instructions": ["Judge kindly."]}
    report = harness(**variants).calibrate(judge(), LABELS)
    same = harness(**variants, calibration=report).evaluate(judge(), CASE)
    assert same.calibration_valid
    other = harness(**variants | {"instructions": ["Judge harshly."]}, calibration=report).evaluate(judge(), CASE)
    assert str(other.calibration_state) == "expired: wordings changed"

    rewording = {"perturbations": ["none", "prompt_variant"]}
    shouted = harness(**rewording, rewriter=shout).calibrate(judge(), LABELS)
    assert harness(**rewording, rewriter=shout, calibration=shouted).evaluate(judge(), CASE).calibration_valid
    whispered = harness(**rewording, rewriter=whisper, calibration=shouted).evaluate(judge(), CASE)
    assert str(whispered.calibration_state) == "expired: wordings changed"
    unused = harness().calibrate(judge(), LABELS)
    assert harness(rewriter=shout, calibration=unused).evaluate(judge(), CASE).calibration_valid


def test_a_case_the_budget_left_says_so() -> None:
    failing = ScriptedJudge([TimeoutError("slow")])
    result = harness(max_calls=2, max_attempts=3, max_concurrency=1).evaluate(failing, CASE)
    assert (result.status, result.state) == ("not_graded", "budget_exhausted")
    assert result.reason.startswith("budget exhausted: ")
    assert "planned samples were not asked" in result.reason


def test_a_text_is_reworded_once_for_all_cases_and_calls_of_a_harness() -> None:
    asked: list[str] = []

    def rewriter(text: str) -> str:
        asked.append(text)
        return f"{text} ({len(asked)})"

    one = harness(perturbations=["none", "prompt_variant", "paraphrase"], rewriter=rewriter)
    cases = [AnswerCase(case_id=str(i), output="same" if i else "other") for i in range(4)]
    asking = judge()
    assert one.plan(asking, cases).rewrites == 3
    results = list(one.evaluate_many(asking, cases))
    assert sorted(asked) == ["Judge fairly.", "other", "same"]
    assert sum(result.usage.rewrites for result in results) == 3
    wordings = {p.case.presentation.instructions for p in asking.probes if p.perturbation.name == "prompt_variant"}
    assert len(wordings) == 1

    again = one.evaluate(asking, AnswerCase(case_id="again", output="same"))
    assert (len(asked), again.usage.rewrites) == (3, 0)
    assert one.plan(asking, cases).rewrites == 0


def test_one_odd_answer_is_an_unparsed_sample_and_ends_nothing() -> None:
    answers = {"a": "PASS", "b": 3, "c": "PASS"}
    results = list(harness(max_concurrency=1).evaluate_many(lambda case: answers[case], ["a", "b", "c"]))
    assert [result.status for result in results] == ["decided", "not_graded", "decided"]
    odd = results[1].rows[0]
    assert (odd.outcome, odd.reasoning) == ("unparsed", "answered 3, a score where others are not")


def test_a_rule_that_fits_no_answer_is_the_rules_fault() -> None:
    with pytest.raises(UsageError, match="rule median folds numbers"):
        harness(aggregation_rule="median").evaluate(lambda _: "PASS", CASE)


def test_a_judge_may_refuse_a_case_before_anything_is_asked() -> None:
    class Picky(ScriptedJudge):
        def fits(self, case: AnswerCase) -> str | None:
            return "it is too short." if len(case.output) < 10 else None

    picky = Picky(["PASS"])
    with pytest.raises(PlanError, match="judge 'scripted' cannot judge case 'c': it is too short"):
        harness().evaluate(picky, CASE)
    assert not picky.probes
    assert harness().evaluate(picky, AnswerCase(case_id="d", output="long enough")).verdict == "PASS"
    assert repr(harness()) == "JudgeHarness(none; x 2; majority)"
