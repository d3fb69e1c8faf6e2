"""What reports call an evaluator."""

from __future__ import annotations

import pytest
from langchain_classic.evaluation import PairwiseStringEvalChain, load_evaluator
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from judgeharness_integrations import PairwiseCase
from judgeharness_integrations.judging.adapters import as_judge
from judgeharness_langchain import harness_evaluator

pytestmark = pytest.mark.filterwarnings("ignore:This chain was only tested with GPT-4")


@pytest.mark.parametrize(
    ("loaded", "name"),
    [
        ("pairwise_string", "pairwise_string"),
        ("labeled_pairwise_string", "labeled_pairwise_string"),
        ("criteria", "helpfulness"),
        ("qa", "correctness"),
    ],
)
def test_a_judge_has_the_short_name_of_its_evaluator(loaded: str, name: str) -> None:
    evaluator = load_evaluator(loaded, llm=FakeListChatModel(responses=["[[A]]"]))  # type: ignore[arg-type]
    judge = as_judge(evaluator)
    assert judge.name == as_judge(harness_evaluator(evaluator)).name == name
    assert judge.identity is not None
    assert judge.identity.name == type(evaluator).__name__  # calibrations go by this one


class Politeness(PairwiseStringEvalChain):
    """One of somebody's own."""


def test_a_class_of_ones_own_has_its_name() -> None:
    evaluator = Politeness.from_llm(FakeListChatModel(responses=["[[A]]"]))
    result = harness_evaluator(evaluator)
    assert as_judge(result).name == "Politeness"


def test_results_and_rows_carry_it() -> None:
    evaluator = PairwiseStringEvalChain.from_llm(FakeListChatModel(responses=["[[A]]"]))
    harnessed = harness_evaluator(evaluator)
    measured = harnessed.harness.evaluate(evaluator, PairwiseCase(case_id="c", input="?", output="a", output_b="b"))
    assert {measured.judge, *(row.judge for row in measured.rows)} == {"pairwise_string"}
