"""Evaluators of LangChain asked in turn: the strong one where the cheap one's certificate does not cover the case."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_classic.evaluation import StringEvaluator
from support.rows import sampled

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.rules import rule
from judgeharness_integrations.analysis.certifying.cascade import Cascade, certify_cascade
from judgeharness_integrations.analysis.certifying.measuring import Labels, Wanted
from judgeharness_integrations.judging.running import fingerprint_parts
from judgeharness_langchain import harness_evaluator
from judgeharness_langchain.evaluators import EvaluatorJudge

NOW = "2026-11-01T00:00:00+00:00"
DESIGN: dict[str, Any] = {"perturbations": ["none"], "repetitions": 4, "aggregation_rule": "majority"}


class Grader(StringEvaluator):
    """Passes what is good; torn about what is hard unless it is strong, and about what is torn in any case."""

    evaluation_name = "grader"

    def __init__(self, *, strong: bool, scores: bool = False) -> None:
        self.strong, self.scores, self.calls = strong, scores, 0

    def _evaluate_strings(self, *, prediction: str, **kwargs: Any) -> dict[str, Any]:
        self.calls += 1
        torn = "torn" in prediction or ("hard" in prediction and not self.strong)
        passes = self.calls % 2 == 0 if torn else "good" in prediction
        return {"score": int(passes), "value": "Y" if passes else "N", "reasoning": f"strong: {self.strong}"}


def cascade_of(*evaluators: Any) -> Cascade:
    """Both are always right about the labelled cases, each under a name of its own."""
    design = JudgeHarness(**DESIGN).design
    names = ["cheap", "strong"][: len(evaluators)]
    golds = ["PASS", "FAIL"]
    rows = [
        row
        for name in names
        for number in range(240)
        for row in sampled(
            ([golds[number % 2]] * 4) if name == "strong" or number % 4 < 2 else ["PASS", "FAIL"] * 2,
            case_id=f"l{number}",
            judge=name,
            gold=golds[number % 2],
        )
    ]
    judges = [EvaluatorJudge.of(one, shape="labels") for one in evaluators]
    return certify_cascade(
        rows,
        [(name, rule("majority")) for name in names],
        Wanted(),
        Labels(name="people"),
        criterion="verdict",
        measured_at=NOW,
        parts={name: fingerprint_parts(judge, design) for name, judge in zip(names, judges, strict=True)},
    )


@pytest.fixture
def graders() -> list[Grader]:
    return [Grader(strong=False), Grader(strong=True)]


def in_turn(graders: list[Grader], cascade: Any) -> Any:
    harness = JudgeHarness(**DESIGN, clock=lambda: datetime.fromisoformat(NOW), max_concurrency=1)
    return harness_evaluator(graders, harness, cascade=cascade, shape="labels")


def test_what_the_cheap_evaluator_is_sure_of_is_its_answer(graders: list[Grader]) -> None:
    answer = in_turn(graders, cascade_of(*graders)).evaluate_strings(prediction="good easy")
    assert (answer["value"], answer["score"], answer["reasoning"]) == ("Y", 1, "strong: False")
    assert [one.calls for one in graders] == [4, 0]
    assert answer["harness"]["judge"] == "cheap"


def test_what_it_is_torn_about_is_the_answer_of_the_strong_one(graders: list[Grader]) -> None:
    answer = in_turn(graders, cascade_of(*graders)).evaluate_strings(prediction="good hard")
    assert (answer["value"], answer["score"], answer["reasoning"]) == ("Y", 1, "strong: True")
    harness = answer["harness"]
    assert (harness["judge"], harness["usage"]["calls"]) == ("strong", 8)
    assert [(one["judge"], one["criteria"]["verdict"]["status"]) for one in harness["earlier"]] == [
        ("cheap", "abstained")
    ]


def test_what_none_of_them_decides_has_no_value_and_waits_for_people(graders: list[Grader]) -> None:
    evaluator = in_turn(graders, cascade_of(*graders))
    answer = asyncio.run(evaluator.aevaluate_strings(prediction="good torn"))
    assert (answer["value"], answer["score"]) == (None, None)
    assert (answer["harness"]["status"], answer["harness"]["waits"]) == ("abstained", True)
    assert "it waits for people" in answer["reasoning"]


def test_a_cascade_of_evaluators_is_a_runnable(graders: list[Grader], tmp_path: Path) -> None:
    path = cascade_of(*graders).save(tmp_path / "cascade.json")
    runnable = in_turn(graders, path).as_runnable()
    answers = runnable.batch([{"prediction": "good easy"}, {"prediction": "poor hard"}], config={"max_concurrency": 1})
    assert [(one["value"], one["harness"]["judge"]) for one in answers] == [("Y", "cheap"), ("N", "strong")]


def test_several_evaluators_without_certificates_are_refused(graders: list[Grader]) -> None:
    with pytest.raises(UsageError, match="several evaluators need certificates to be asked in turn"):
        in_turn(graders, None)


def test_one_evaluator_is_no_cascade(graders: list[Grader]) -> None:
    with pytest.raises(UsageError, match="a cascade is of several evaluators: give them as a list"):
        harness_evaluator(graders[0], cascade=cascade_of(*graders), shape="labels")


def test_more_evaluators_than_were_certified_are_refused(graders: list[Grader]) -> None:
    with pytest.raises(UsageError, match="certified for cheap, strong, in that order, not for cheap, strong, grader"):
        in_turn([*graders, Grader(strong=True)], cascade_of(*graders))


def test_evaluators_that_answer_otherwise_are_refused(graders: list[Grader]) -> None:
    from langchain_classic.evaluation import ExactMatchStringEvaluator

    with pytest.raises(UsageError, match="'exact_match' answers otherwise than 'cheap'"):
        in_turn([graders[0], ExactMatchStringEvaluator()], cascade_of(*graders))  # type: ignore[list-item]
