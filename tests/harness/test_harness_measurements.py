"""What a measurement says about itself, and that it can be made again from its rows."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from judgeharness_integrations import (
    AnswerCase,
    CalibrationSet,
    Criterion,
    JudgeHarness,
    JudgeIdentity,
    PairwiseCase,
    VerdictRow,
)
from judgeharness_integrations._errors import CaseError, UnsupportedEvaluatorError, UsageError
from judgeharness_integrations.analysis.aggregation import position_bias
from judgeharness_integrations.analysis.measure import remeasure
from judgeharness_integrations.judging.execution.observing import ProgressBar
from judgeharness_integrations.judging.execution.retrying import is_transient
from judgeharness_integrations.testing import ScriptedJudge

PAIR = PairwiseCase(case_id="p", output="one", output_b="two", author="gpt-4o", author_b="claude-3")
IDENTITY = JudgeIdentity(name="j", model="gpt-4o", parameters={"temperature": 0})


def harness(**options: Any) -> JudgeHarness:
    arguments: dict[str, Any] = {"perturbations": ["none"], "repetitions": 3, "aggregation_rule": "majority"}
    return JudgeHarness(max_concurrency=1, **arguments | options)


JUDGES = {
    "labels": (ScriptedJudge(["A", "B", "A"], identity=IDENTITY), "majority"),
    "scores": (ScriptedJudge([3, 4, 9], criteria=[Criterion(name="depth", scale=(1, 10))]), "median"),
    "rubric": (ScriptedJudge([{"x": "PASS", "y": "FAIL"}, {"x": "FAIL"}, ValueError("no")]), "majority"),
    "declared": (ScriptedJudge(["a", "b", "zzz"], criteria=[Criterion(name="k", labels=("a", "b", "c"))]), "majority"),
}


@pytest.mark.parametrize("kind", JUDGES)
def test_a_measurement_is_made_again_from_its_rows(kind: str) -> None:
    judge, rule = JUDGES[kind]
    result = harness(aggregation_rule=rule).evaluate(judge, PAIR)
    again = remeasure(result)
    assert again == result
    assert again.report() == result.report()
    assert copy.deepcopy(result) == result
    assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301 - our own bytes


def test_another_rule_is_chosen_after_the_samples() -> None:
    result = harness(repetitions=8).evaluate(ScriptedJudge(["PASS"] * 5 + ["FAIL"] * 3), "a text")
    after = remeasure(result, "supermajority(2/3)")
    assert (result.verdict, after.verdict) == ("PASS", "ABSTAIN")
    assert (after.aggregation_rule, after.rule_fixed) == ("supermajority(2/3)", "after")
    assert "exploratory" in after.report()
    assert after.rows == result.rows


def test_a_single_sample_carries_no_aggregation_in_its_document() -> None:
    document = harness(repetitions=1).evaluate(ScriptedJudge(["PASS"]), "a text").to_dict()
    measured = document["criteria"]["verdict"]
    assert (document["informal"], document["aggregation_rule"], document["rule_fixed"]) == (True, None, None)
    assert (measured["verdict"], measured["consistency_rate"], measured["chance_consistency"]) == ("PASS", None, None)
    assert measured["reason"] == ""


def test_calls_a_failed_perturbation_never_made_are_not_counted() -> None:
    def broken(text: str) -> str:
        raise LookupError(text)

    result = harness(perturbations=["none", "paraphrase"], rewriter=broken).evaluate(ScriptedJudge(["A"]), PAIR)
    assert (result.usage.calls, result.usage.attempts) == (3, 3)
    assert result.only.outcomes["error"] == 3


def test_whole_scores_stay_whole() -> None:
    for rule in ("median", "mean", "trimmed_mean(0.4)", "mode"):
        verdict = harness(repetitions=4, aggregation_rule=rule).evaluate(ScriptedJudge([7]), "a text").verdict
        assert json.dumps(verdict) == "7"
    assert harness(repetitions=2, aggregation_rule="mean").evaluate(ScriptedJudge([7, 8]), "a text").verdict == 7.5
    assert json.dumps(harness(aggregation_rule="mean").evaluate(ScriptedJudge([7.0]), "a text").verdict) == "7.0"


class Broken:
    def __init__(self, where: str) -> None:
        self.where = where

    def begin(self, span: object) -> None:
        if self.where == "begin":
            raise OSError("disk full")

    def end(self, span: object) -> None:
        if self.where == "end":
            raise OSError("disk full")


@pytest.mark.parametrize("where", ["begin", "end"])
def test_an_observer_that_fails_ends_nothing(where: str) -> None:
    with pytest.warns(RuntimeWarning, match="observer Broken failed and is not told any more: OSError"):
        result = harness(observers=[Broken(where)]).evaluate(ScriptedJudge(["A"]), PAIR)
    assert result.verdict == "A"


def test_a_calibration_from_the_future_has_expired() -> None:
    labels = CalibrationSet("people", ((PAIR, "A"),))
    judge = ScriptedJudge(["A"], identity=IDENTITY)
    today = datetime(2026, 5, 1, tzinfo=UTC)
    report = harness(clock=lambda: today + timedelta(days=3)).calibrate(judge, labels)
    later = harness(calibration=report, clock=lambda: today).evaluate(judge, PAIR)
    assert "in the future" in str(later.calibration_state)
    skewed = harness(calibration=report, clock=lambda: today + timedelta(days=2, hours=12)).evaluate(judge, PAIR)
    assert skewed.calibration_valid


def test_labels_of_a_model_are_called_agreement_in_the_document() -> None:
    labels = CalibrationSet("other", ((PAIR, "A"),), source="model:gpt-5")
    document = harness(calibration_set=labels).evaluate(ScriptedJudge(["A"]), PAIR).to_dict()
    assert document["calibration"]["word"] == "agreement with gpt-5"


def test_a_garbled_body_is_asked_again_and_an_unreadable_answer_is_not() -> None:
    class Response:
        status_code = 200

    garbled = json.JSONDecodeError("no", "", 0)
    assert not is_transient(garbled)
    garbled.response = Response()  # type: ignore[attr-defined]
    assert is_transient(garbled)


def test_what_the_case_says_and_a_mapping_is_a_case() -> None:
    assert harness().evaluate(ScriptedJudge(["PASS"]), {"case_id": "m", "anything": 1}).case_id == "m"
    assert harness().evaluate(ScriptedJudge(["PASS"]), AnswerCase(case_id="n", output="x")).case_id == "n"


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [("a", "A"), ("Tie", "TIE"), ("first", None), ("[[A]]", None), (True, None), (("A", "so"), None)],
)
def test_an_undeclared_answer_about_a_pair_is_a_b_or_tie(answer: object, verdict: str | None) -> None:
    row = harness(repetitions=1).evaluate(lambda _: answer, PAIR).rows[0]
    assert (row.verdict, row.outcome) == (verdict, "unparsed" if verdict is None else "ok")
    assert verdict is not None or "not A, B or TIE" in str(row.reasoning)


def test_declared_labels_of_a_pair_are_the_judges_own() -> None:
    judge = ScriptedJudge(["left"], criteria=[Criterion(name="verdict", labels=("left", "right"))])
    assert harness().evaluate(judge, PAIR).verdict == "left"


def test_a_case_without_a_decision_names_the_error() -> None:
    result = harness().evaluate(ScriptedJudge([ValueError("no such model")]), PAIR)
    assert result.reason == "0 valid of 3 samples, 2 needed; 3 failed with ValueError: no such model"


def test_a_calibration_may_be_given_as_a_path(tmp_path: Any) -> None:
    judge = ScriptedJudge(["A"], identity=IDENTITY)
    path = harness().calibrate(judge, CalibrationSet("people", ((PAIR, "A"),))).save(tmp_path / "cal.json")
    assert harness(calibration=path).evaluate(judge, PAIR).calibration_valid
    assert harness(calibration=str(path)).evaluate(judge, PAIR).calibration_source == "people"


def test_labels_in_other_words_are_understood_or_refused() -> None:
    cases = [(AnswerCase(case_id=str(i), output="x"), gold) for i, gold in enumerate(("Y", "N", "yes"))]
    judge = ScriptedJudge(["PASS"])
    report = harness().calibrate(judge, CalibrationSet("people", cases))
    assert report.criteria["verdict"].confusion == {"PASS": {"PASS": 2}, "FAIL": {"PASS": 1}}
    assert report.criteria["verdict"].kappa is None  # the judge never varies
    other = [(case, gold) for (case, _), gold in zip(cases, ("good", "bad", "good"), strict=True)]
    with pytest.raises(CaseError, match=r"the labels bad, good never occur among the decisions \(PASS\)"):
        harness().calibrate(judge, CalibrationSet("people", other))


class Evaluator:
    def evaluate_strings(self) -> None: ...
    def __call__(self) -> None: ...


class Harnessed:
    judge = ScriptedJudge(["A"])


def test_evaluators_are_unwrapped_or_explained() -> None:
    assert harness().evaluate(Harnessed(), PAIR).verdict == "A"  # type: ignore[arg-type]
    with pytest.raises(UnsupportedEvaluatorError, match="Evaluator is not known here: say shape='labels'"):
        harness().evaluate(Evaluator(), PAIR)


@pytest.mark.parametrize("judge", [lambda outputs: outputs == "Hello *there*.", lambda *, inputs, outputs: True])
def test_a_function_that_takes_outputs_is_called_with_them(judge: Any) -> None:
    case = AnswerCase(case_id="c", input="q", output="Hello *there*.")
    result = harness(perturbations=["none"]).evaluate(judge, case)
    assert (result.verdict, result.only.outcomes["error"]) == ("PASS", 0)


@pytest.mark.parametrize("observers", [ProgressBar(), [ProgressBar], ["bar"], "bar"])
def test_observers_are_a_list_of_observers(observers: Any) -> None:
    with pytest.raises(UsageError, match=r"observers is a list of observers, as in observers=\[LangSmithTracing\(\)\]"):
        harness(observers=observers)


def test_labels_are_a_calibration_set() -> None:
    class Labels:
        calibration_set = None

    with pytest.raises(UsageError, match=r"a CalibrationSet, not Labels: give its Labels\.calibration_set"):
        harness().calibrate(ScriptedJudge(["A"]), Labels())  # type: ignore[arg-type]


def test_position_bias_counts_cases_not_repetitions() -> None:
    rows = [
        VerdictRow(case_id=str(case), verdict=verdict, perturbation=name, repetition=repetition, swapped=name != "none")
        for case in range(3)
        for repetition in range(3)
        for name, verdict in (("none", "A"), ("position_swap", "B"))
    ]
    bias = position_bias(rows)
    assert bias is not None
    assert (bias.always_first, bias.cases_first, bias.cases_second) == (9, 3, 0)
    assert bias.p_value == 0.25
