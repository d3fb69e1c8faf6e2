"""What a judge cannot judge is said before anything is asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_classic.evaluation import load_evaluator as classic_load
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import CaseError, PlanError
from judgeharness_integrations.judging.judge import Probe
from judgeharness_integrations.judging.perturbations import perturbation
from judgeharness_langchain import CriteriaJudge, EvaluatorJudge, LabelJudge, PairwiseJudge, ScoreJudge

SINGLE = AnswerCase(case_id="c", output="an answer", input="q", reference="r")
PAIR = PairwiseCase(case_id="c", output="an answer", output_b="another", input="q", reference="r")


def model() -> FakeListChatModel:
    return FakeListChatModel(responses=["[[1]]"])


def wrapped(name: str) -> EvaluatorJudge:
    return EvaluatorJudge.of(classic_load(name, llm=model()))


def judges() -> list[tuple[Any, Any]]:
    """Every judge with the case it is for."""
    singles = ("score_string", "labeled_score_string", "criteria", "labeled_criteria", "qa", "context_qa", "cot_qa")
    return [
        (PairwiseJudge(model()), PAIR),
        (ScoreJudge(model()), SINGLE),
        (CriteriaJudge(model(), criteria="ok"), SINGLE),
        (LabelJudge(model(), taxonomy={"a": ""}), SINGLE),
        (LabelJudge(model(), taxonomy={"a": ""}, multiple=True), SINGLE),
        (wrapped("pairwise_string"), PAIR),
        (wrapped("labeled_pairwise_string"), PAIR),
        *((wrapped(name), SINGLE) for name in singles),
    ]


@pytest.mark.parametrize("number", range(len(judges())))
def test_every_judge_fits_its_own_kind_of_case_alone(number: int) -> None:
    judge, case = judges()[number]
    assert judge.fits(case) is None
    if case is PAIR:
        assert judge.fits(SINGLE) == "it compares two answers and the case has one"
    else:
        assert judge.fits(PAIR) == "it judges one answer and the case has two, of which it would ignore output_b"
    assert judge.fits({"output": "x"}) == "it judges an AnswerCase or a PairwiseCase, not a dict"


def test_inputs_and_references_that_are_missing() -> None:
    bare = AnswerCase(case_id="c", output="x")
    assert wrapped("score_string").fits(bare) == "it needs the input, which the case lacks"
    assert wrapped("labeled_score_string").fits(bare) == "it needs the input and the reference, which the case lacks"
    assert ScoreJudge(model()).fits(bare) is None
    demanding = ScoreJudge(model(), requires_reference=True)
    assert demanding.fits(bare) == "it needs the reference, which the case lacks"


@pytest.mark.parametrize(
    ("judge", "case"),
    [
        (ScoreJudge(model()), PAIR),
        (PairwiseJudge(model()), SINGLE),
        (wrapped("score_string"), "only a text"),
        (wrapped("labeled_pairwise_string"), PairwiseCase(case_id="c", output="a", output_b="b")),
    ],
)
def test_a_judge_that_cannot_judge_is_refused_before_any_call(judge: Any, case: Any) -> None:
    shape = "pairwise" if judge.kind.shape == "pairwise" else "scores"
    with pytest.raises(PlanError, match="cannot judge case"):
        JudgeHarness.quick(shape).evaluate(judge, case)
    probe = Probe(case=case, case_id="c", perturbation=perturbation("none"), repetition=0, seed=0)
    with pytest.raises(CaseError, match=r"cannot judge case '.+': it .+\.$"):
        asyncio.run(judge.judge(probe))
    model_behind = judge.evaluator.llm if isinstance(judge, EvaluatorJudge) else judge.model
    assert model_behind.i == 0  # nothing was asked
