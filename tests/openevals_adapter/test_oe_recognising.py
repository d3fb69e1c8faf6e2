"""Which evaluators the adapter knows."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from openevals.exact import exact_match
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from openevals.trajectory.llm import create_trajectory_llm_as_judge
from support.openai_server import chat_model
from support.openevals_judging import PROMPT, Serve, scored

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations._errors import UnsupportedEvaluatorError
from judgeharness_integrations.judging.adapters import as_judge, recognised
from judgeharness_openevals import OpenevalsJudge, create_harnessed_pairwise_judge, harness_judge
from judgeharness_openevals import _seams as seams
from judgeharness_openevals.introspecting import introspect
from judgeharness_openevals.wrapping import recognise


def scorer(outputs: dict[str, Any], reference_outputs: dict[str, Any]) -> bool:
    return outputs == reference_outputs


def test_its_own_are_known(openai_server: Serve) -> None:
    model = chat_model(openai_server([scored(score=True)]))
    bare = create_llm_as_judge(prompt=PROMPT, judge=model)
    harnessed, pairwise = harness_judge(bare), create_harnessed_pairwise_judge(judge=model)
    assert recognise(harnessed) is harnessed.judge
    assert recognise(pairwise) is pairwise.judge
    assert recognised(harnessed) is harnessed.judge
    for evaluator in (bare, create_async_llm_as_judge(prompt=PROMPT, judge=model), scorer, exact_match):
        assert isinstance(recognise(evaluator), OpenevalsJudge)
    assert isinstance(recognise(create_trajectory_llm_as_judge(judge=model)), OpenevalsJudge)
    assert as_judge(harnessed) is harnessed.judge
    with pytest.raises(UnsupportedEvaluatorError, match="harness the partial instead"):
        recognise(partial(harnessed, context="c"))


@pytest.mark.slow
def test_a_judge_is_named_after_its_feedback_key(openai_server: Serve) -> None:
    model = chat_model(openai_server([scored(score=True)]))
    right = create_llm_as_judge(prompt=PROMPT, judge=model, feedback_key="correctness")
    assert as_judge(right).name == as_judge(harness_judge(right)).name == "correctness"
    assert OpenevalsJudge.of(right, name="mine").name == "mine"
    assert as_judge(create_llm_as_judge(prompt=PROMPT, judge=model)).name == "llm_as_judge"  # `score` says nothing
    assert as_judge(create_trajectory_llm_as_judge(judge=model)).name == "trajectory_accuracy"
    assert create_harnessed_pairwise_judge(judge=model, feedback_key="kinder").judge.name == "kinder"
    assert as_judge(scorer).name == "scorer"
    harnessed = harness_judge(partial(right, context="c"))
    assert (harnessed.__name__, harnessed.judge.name) == ("llm_as_correctness_judge", "correctness")  # as in a trace


class Case:
    def __init__(self, outputs: str) -> None: ...


def test_others_are_not() -> None:
    def judge(case: AnswerCase) -> bool:
        return True

    def over_runs(run: Any, example: Any) -> bool:
        return True

    def also(outputs: str, temperature: float = 0.0) -> bool:
        return True

    def anything(**values: Any) -> bool:
        return True

    strange = type("Strange", (), {"judge": judge, "harness": JudgeHarness.quick("labels")})()
    for evaluator in (judge, over_runs, also, anything, Case, "text", None, OpenevalsJudge.of(scorer), strange, dict):
        assert recognise(evaluator) is None


@pytest.mark.slow
def test_what_cannot_be_looked_into_is_unknown(openai_server: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = create_llm_as_judge(prompt=PROMPT, judge=chat_model(openai_server([scored(score=True)])))
    assert introspect(scorer) is None
    assert introspect("text") is None
    assert seams.closure_of("text") == {}

    def recursive() -> Any:
        return later()

    assert seams.closure_of(recursive) == {}

    def later() -> None: ...

    monkeypatch.setattr("judgeharness_openevals.introspecting.closure_of", lambda function: {})
    judge = harness_judge(bare)
    assert (judge.judge.details, judge.judge.criteria, judge.judge.identity) == (None, None, None)
    assert judge(inputs="q", outputs="an answer")["score"] is True


def test_a_context_variable_that_has_gone_is_replaced_by_one_nobody_reads() -> None:
    assert seams._variable(object(), "gone").get() is None
