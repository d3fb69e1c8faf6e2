"""Calibration through the harness: once a fingerprint, in the plan, valid only where it was measured."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from judgeharness_integrations import (
    AnswerCase,
    CalibrationReport,
    CalibrationSet,
    Criterion,
    HarnessResult,
    JudgeHarness,
    JudgeIdentity,
)
from judgeharness_integrations._errors import BudgetError, CaseError, PlanError
from judgeharness_integrations.analysis.measure import remeasure
from judgeharness_integrations.judging.calibrating import Once, SameObject
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.judge import FunctionJudge
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_integrations.verdictlog.files import MemoryLog
from judgeharness_integrations.verdictlog.sql import SqlLog

NOW = datetime(2026, 11, 1, tzinfo=UTC)
LABELS = CalibrationSet("labels", tuple((f"labelled {number}", "PASS") for number in range(3)))


def harness(**options: object) -> JudgeHarness:
    defaults = {
        "perturbations": ["none"],
        "repetitions": 2,
        "aggregation_rule": "majority",
        "observers": (),
        "clock": lambda: NOW,
    }
    return JudgeHarness(**(defaults | options))  # type: ignore[arg-type]


class Counting:
    """An async judge that counts labelled and other cases; it has no identity."""

    def __init__(self, answer: object = "PASS") -> None:
        self.labelled = self.other = 0
        self._answer = answer

    async def __call__(self, case: str) -> object:
        await asyncio.sleep(0.002)
        if str(case).startswith("labelled"):
            self.labelled += 1
        else:
            self.other += 1
        return self._answer

    async def ask(self, case: str) -> object:
        return await self(case)


def test_it_calibrates_once_for_every_result_and_every_call() -> None:
    judge, one = Counting(), harness(calibration_set=LABELS)
    results = [one.evaluate(judge, "first"), *one.evaluate_many(judge, ["second", "third"])]
    assert (judge.labelled, judge.other) == (6, 6)
    assert {result.calibrated_precision for result in results} == {1.0}
    assert {result.calibration_source for result in results} == {"labels"}
    assert all(result.calibration is results[0].calibration for result in results)


def test_it_calibrates_once_under_concurrent_calls_from_tasks_and_threads() -> None:
    judge, one = Counting(), harness(calibration_set=LABELS)

    async def many() -> list[HarnessResult]:
        return list(await asyncio.gather(*(one.aevaluate(judge, f"case {number}") for number in range(20))))

    results: list[HarnessResult] = []
    threads = [threading.Thread(target=lambda: results.extend(asyncio.run(many()))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert judge.labelled == 6
    assert [result.calibrated_recall for result in results] == [1.0] * 40


def test_a_bound_method_is_the_same_judge_whenever_it_is_read() -> None:
    judge, one = Counting(), harness(calibration_set=LABELS)
    for number in range(3):
        one.evaluate(judge.ask, f"case {number}")
    assert judge.labelled == 6
    one.evaluate(Counting().ask, "case")
    assert judge.labelled == 6


def test_another_fingerprint_is_calibrated_anew() -> None:
    asked = Counting()
    one = harness(calibration_set=LABELS)

    def judge(**parameters: object) -> FunctionJudge:
        return FunctionJudge(function=asked, identity=JudgeIdentity(name="j", model="m", parameters=parameters))

    one.evaluate(judge(temperature=0), "case")
    one.evaluate(judge(temperature=0), "case")
    assert asked.labelled == 6
    one.evaluate(judge(temperature=1), "case")
    assert asked.labelled == 12
    one.evaluate(judge(temperature=1), "case", judge_model="another")
    assert asked.labelled == 18


@pytest.mark.slow
def test_one_callers_cancellation_does_not_take_the_calibration_from_the_others() -> None:
    judge, one = Counting(), harness(calibration_set=LABELS, max_concurrency=1)

    async def scene(which: int) -> list[object]:
        tasks = [asyncio.create_task(one.aevaluate(judge, f"case {number}")) for number in range(3)]
        while not judge.labelled:  # noqa: ASYNC110 - the judge knows nothing of events
            await asyncio.sleep(0)
        tasks[which].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    for which in range(3):
        judge, one = Counting(), harness(calibration_set=LABELS, max_concurrency=3)
        results = asyncio.run(scene(which))
        assert isinstance(results.pop(which), asyncio.CancelledError)
        assert [result.calibrated_precision for result in results] == [1.0, 1.0]  # type: ignore[attr-defined]


def test_calls_for_calibration_stand_in_the_plan_until_they_were_made() -> None:
    judge, one = Counting(), harness(calibration_set=LABELS, max_calls=8)
    plan = one.plan(judge, ["case"])
    assert (plan.calls, plan.calibration_calls, plan.total) == (2, 6, 8)
    assert str(plan) == "2 judge calls for 1 case, 6 calls for calibration: 8 calls, retries not counted"
    with pytest.raises(BudgetError, match="6 calls for calibration"):
        list(one.evaluate_many(judge, ["a", "b"]))
    assert judge.other == judge.labelled == 0
    one.evaluate(judge, "case")
    assert one.plan(judge, ["case"]).calibration_calls == 0
    assert len(list(one.evaluate_many(judge, list("abcd")))) == 4


def test_a_calibration_under_a_judge_model_is_found_again() -> None:
    judge = FunctionJudge(function=Counting(), identity=JudgeIdentity(name="j", model="m"))
    one = harness(calibration_set=LABELS, max_calls=8)
    one.evaluate(judge, "case", judge_model="other")
    assert len(list(one.evaluate_many(judge, list("abcd"), judge_model="other"))) == 4


def test_rows_of_labelled_cases_are_not_in_the_runs_log() -> None:
    log = MemoryLog()
    harness(calibration_set=LABELS, log=log).evaluate(Counting(), "case")
    assert len(log) == 2


@pytest.mark.slow
def test_a_calibration_the_budget_cut_short_is_none() -> None:
    judge = Counting()
    budget = Budget(max_calls=6)
    one = harness(calibration_set=LABELS, budget=budget, max_concurrency=1)
    results = list(one.evaluate_many(judge, ["a", "b"]))
    assert [result.calibration for result in results] == [None, None]
    assert "uncalibrated" in results[0].report()
    assert budget.exhausted
    later = harness(calibration_set=LABELS)
    later._anchor = one._anchor
    assert later.evaluate(judge, "c").calibrated_precision == 1.0
    with pytest.raises(BudgetError, match="ended before 'labels' was judged"):
        harness(budget=Budget(max_calls=3)).calibrate(judge, LABELS)


def test_labels_that_cannot_be_compared_fail_every_caller_and_nothing_is_remembered() -> None:
    judge, one = Counting(), harness(calibration_set=CalibrationSet("scores", (("labelled", 7),)))

    async def both() -> list[BaseException | HarnessResult]:
        return await asyncio.gather(one.aevaluate(judge, "a"), one.aevaluate(judge, "b"), return_exceptions=True)

    assert [type(outcome) for outcome in asyncio.run(both())] == [CaseError, CaseError]
    with pytest.raises(CaseError, match="cannot be compared"):
        one.evaluate(judge, "c")


def test_a_label_that_cannot_be_used_is_found_before_anything_is_asked() -> None:
    with pytest.raises(CaseError, match="score must be a finite number"):
        harness(calibration_set=CalibrationSet("nan", (("case", float("nan")),)))


def test_calibrating_directly() -> None:
    judge = ScriptedJudge(["PASS", "PASS", "FAIL", "FAIL"])
    labels = CalibrationSet("mixed", (("a", "PASS"), ("b", "PASS")))
    report = harness(max_concurrency=1).calibrate(judge, labels)
    measured = report.criteria["verdict"]
    assert (measured.n, measured.precision and measured.precision.value) == (2, 1.0)
    assert measured.recall is not None
    assert measured.recall.value == 0.5
    assert (report.measured_at, report.fingerprint) == (NOW.isoformat(), None)
    with pytest.raises(BudgetError, match="nothing was asked"):
        harness(max_calls=3).calibrate(judge, labels)


JUDGE = FunctionJudge(
    function=Counting(), identity=JudgeIdentity(name="j", model="m", prompt_hash="p", parameters={"temperature": 0.7})
)


def saved(tmp_path: Path, **options: object) -> CalibrationReport:
    report = harness(**options).calibrate(JUDGE, LABELS)
    return CalibrationReport.load(report.save(tmp_path / "calibration.json"))


def test_a_saved_calibration_holds_for_the_same_configuration(tmp_path: Path) -> None:
    result = harness(calibration=saved(tmp_path)).evaluate(JUDGE, "case")
    assert (str(result.calibration_state), result.calibrated_precision) == ("valid", 1.0)
    assert result.fingerprint == result.calibration.fingerprint  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("options", "identity", "reason"),
    [
        ({"repetitions": 3}, {}, "repetitions changed"),
        ({"aggregation_rule": "strict_majority"}, {}, "rule changed"),
        ({"perturbations": ["none", "whitespace"]}, {}, "perturbations changed"),
        ({"min_valid": 2}, {}, "failure policy changed"),
        ({}, {"model": "m2"}, "model changed"),
        ({}, {"prompt_hash": "q"}, "prompt changed"),
        ({}, {"parameters": {"temperature": 0.0}}, "parameters changed"),
        ({}, {"name": "k", "model": "m2"}, "judge, model changed"),
    ],
)
def test_a_saved_calibration_expires_with_the_part_that_changed(
    tmp_path: Path, options: dict[str, object], identity: dict[str, object], reason: str
) -> None:
    parts = {"name": "j", "model": "m", "prompt_hash": "p", "parameters": {"temperature": 0.7}} | identity
    judge = FunctionJudge(function=Counting(), identity=JudgeIdentity(**parts))  # type: ignore[arg-type]
    result = harness(calibration=saved(tmp_path), **options).evaluate(judge, "case  with  blanks")
    assert str(result.calibration_state) == f"expired: {reason}"
    assert (result.calibrated_precision, result.calibration_source) == (None, None)
    assert "calibrated_precision: none" in result.report()


def test_a_saved_calibration_expires_with_time_and_with_declared_labels(tmp_path: Path) -> None:
    report = saved(tmp_path)
    for days, state in ((30, "valid"), (31, "expired: 31 days old, allowed 30")):
        late = harness(calibration=report, clock=lambda days=days: NOW + timedelta(days=days))
        assert str(late.evaluate(JUDGE, "case").calibration_state).startswith(state)
    sooner = harness(calibration=report, max_age=timedelta(days=1), clock=lambda: NOW + timedelta(days=2))
    assert str(sooner.evaluate(JUDGE, "case").calibration_state).startswith("expired: 2 days old, allowed 1")
    labelled = FunctionJudge(
        function=Counting(), identity=JUDGE.identity, criteria=(Criterion(name="verdict", labels=("PASS", "FAIL")),)
    )
    assert str(harness(calibration=report).evaluate(labelled, "case").calibration_state) == "expired: labels changed"


def test_a_judge_without_identity_cannot_be_verified(tmp_path: Path) -> None:
    result = harness(calibration=saved(tmp_path)).evaluate(Counting(), "case")
    why = "a Counting has no source of its own; write it as a function with `def`"
    assert str(result.calibration_state) == f"unverifiable: the judge declares no identity ({why})"
    assert result.warnings == (f"the calibration on labels is not used: {result.calibration_state}",)
    assert result.calibrated_precision is None


def brief(case: AnswerCase) -> str:
    return "PASS" if len(case.output) < LONG else "FAIL"


def kind(case: AnswerCase) -> str:
    return "PASS"


LONG = 40


def test_a_plain_function_uses_its_saved_calibration_and_no_other_takes_it_over(tmp_path: Path) -> None:
    labels = CalibrationSet("people", ((AnswerCase(case_id="a", output="Yes."), "PASS"),))
    path = harness().calibrate(brief, labels, judge_model="small").save(tmp_path / "calibration.json")
    one = harness(calibration=path)
    case = AnswerCase(case_id="b", output="No.")
    result = one.evaluate(brief, case, judge_model="small")
    assert (str(result.calibration_state), result.calibrated_precision, result.warnings) == ("valid", 1.0, ())

    def renamed(case: AnswerCase) -> str:
        return brief(case)

    renamed.__name__ = "brief"
    others = {
        "judge, source changed": one.evaluate(kind, case, judge_model="small"),
        "source changed": one.evaluate(renamed, case, judge_model="small"),
        "model changed": one.evaluate(brief, case, judge_model="large"),
    }
    for changed, other in others.items():
        assert (str(other.calibration_state), other.calibrated_precision) == (f"expired: {changed}", None)
        assert other.warnings == (f"the calibration on people is not used: expired: {changed}",)
        assert other.warnings[0] in other.report()
        assert remeasure(other) == other
        assert HarnessResult.from_dict(other.to_dict(rows=True)) == other


def test_criteria_without_labels_are_a_warning_of_the_result(tmp_path: Path) -> None:
    identity = JudgeIdentity(name="both")
    labels = CalibrationSet("rubric", ((AnswerCase(case_id="a", output="x"), {"tone": "PASS"}),))
    judge = FunctionJudge(function=Counting({"tone": "PASS", "facts": "PASS"}), identity=identity)
    path = harness().calibrate(judge, labels).save(tmp_path / "calibration.json")
    result = harness(calibration=path).evaluate(judge, AnswerCase(case_id="b", output="y"))
    assert result.calibration_valid
    assert result.warnings == ("the calibration on rubric is not used for facts: it has no labels of it",)


def test_answers_of_a_plain_function_are_not_taken_over_by_another_run(tmp_path: Path) -> None:
    with SqlLog(tmp_path / "log.db") as log:
        calls = [harness(log=log, run=run).evaluate(kind, "case").usage.attempts for run in ("one", "two")]
    assert calls == [2, 2]


def test_a_calibration_and_a_set_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="give a calibration or a calibration_set, not both"):
        harness(calibration=saved(tmp_path), calibration_set=LABELS)


def test_the_calibration_set_is_planned_with_the_cases() -> None:
    one = harness(perturbations=["none", "position_swap"], calibration_set=LABELS)
    with pytest.raises(PlanError, match="does not fit case"):
        one.plan(Counting(), [])


def test_several_criteria_are_calibrated_each() -> None:
    labels = CalibrationSet(
        "rubric", ((AnswerCase(case_id="a", output="x"), {"tone": "PASS", "facts": "FAIL"}),), source="model:oracle"
    )
    result = harness(calibration_set=labels).evaluate(Counting({"tone": "PASS", "facts": "PASS"}), "case")
    assert result.calibration is not None
    assert {name: c.confusion for name, c in result.calibration.criteria.items()} == {
        "tone": {"PASS": {"PASS": 1}},
        "facts": {"FAIL": {"PASS": 1}},
    }
    assert "agreement with oracle" in result.report()


@pytest.mark.parametrize("label", [{"style": "PASS"}, "PASS"])
def test_labels_must_name_criteria_the_judge_answers(label: object) -> None:
    labels = CalibrationSet("rubric", ((AnswerCase(case_id="a", output="x"), label),))
    with pytest.raises(Exception, match="criteri"):
        harness(calibration_set=labels).evaluate(Counting({"tone": "PASS", "facts": "PASS"}), "case")


def test_a_set_whose_labels_are_all_ties_calibrates_nothing() -> None:
    labels = CalibrationSet("ties", (("a", ["PASS", "FAIL"]),))
    with pytest.raises(CaseError, match="no label of 'ties' matches a judged case"):
        harness(calibration_set=labels).evaluate(Counting(), "case")


def test_what_one_caller_measures_others_wait_for() -> None:
    once: Once[int] = Once()
    made: list[int] = []

    async def measure() -> int | None:
        made.append(1)
        await asyncio.sleep(0.01)
        return None if len(made) == 1 else 7

    async def scene() -> list[int | None]:
        return list(await asyncio.gather(*(once.get("key", measure) for _ in range(4))))

    assert asyncio.run(scene()) == [None, 7, 7, 7]
    assert ("key" in once, len(made)) == (True, 2)
    assert asyncio.run(once.get("key", measure)) == 7


def test_the_same_object_is_the_same_key() -> None:
    judge, other = Counting(), Counting()
    assert SameObject(judge) == SameObject(judge) != SameObject(other)
    assert SameObject(judge.ask) == SameObject(judge.ask) != SameObject(other.ask)
    assert SameObject(judge) != judge
    assert len({SameObject(judge), SameObject(judge), SameObject(other)}) == 2
