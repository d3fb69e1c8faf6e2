"""What rewords texts belongs to what a calibration was measured with."""

from __future__ import annotations

from datetime import UTC, datetime

from judgeharness_integrations import AnswerCase, CalibrationSet, JudgeHarness, JudgeIdentity
from judgeharness_integrations.testing import ScriptedJudge

CASE = AnswerCase(case_id="c", output="text")
LABELS = CalibrationSet("people", ((CASE, "PASS"),))


def shout(text: str) -> str:
    return text.upper()


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

    plain = harness().calibrate(judge(), LABELS)
    reworded = harness(rewriter=shout, calibration=plain).evaluate(judge(), CASE)
    assert str(reworded.calibration_state) == "expired: wordings changed"


def test_a_case_the_budget_left_says_so() -> None:
    failing = ScriptedJudge([TimeoutError("slow")])
    result = harness(max_calls=2, max_attempts=3, max_concurrency=1).evaluate(failing, CASE)
    assert (result.status, result.state) == ("not_graded", "budget_exhausted")
    assert result.reason.startswith("budget exhausted: ")
    assert "planned samples were not asked" in result.reason
