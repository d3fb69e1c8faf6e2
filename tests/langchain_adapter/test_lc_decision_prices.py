"""What decisions cost, as the documentation says: requests of a real client, their words, a dated list price."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.decision_fixtures import KEY, Decide, decision_server
from support.decision_models_there import decision_models_are_there
from support.planted_decisions import Planted

if not decision_models_are_there():
    pytest.skip("langchain-openai has no decision models yet", allow_module_level=True)

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations.analysis.usage import Price, Spent
from judgeharness_integrations.judging.passport import PassportOffice
from judgeharness_langchain import DecisionJudge

__all__ = ["decision_server"]  # a fixture
PAGE = Path(__file__).parents[2] / "docs" / "use" / "decision-models.md"
LISTED = Price(input=0.1, output=0.0, cached_input=0.0, cache_write=0.0)  # dollars, /v1/decisions, October 2026
TOKENS_A_WORD = 4 / 3
ANSWER = " ".join(f"word{n}" for n in range(150))
QUESTION = " ".join(f"asked{n}" for n in range(40))


def judge_of(decide: Decide, shape: str) -> DecisionJudge:
    url = decide(Planted()).url  # which counts a word as a token
    return DecisionJudge("openai:gpt-6-luna", base_url=f"{url}/v1", api_key=KEY, shape=shape, criteria="helpful")


def dollars(words: float) -> float:
    cost = LISTED.of(Spent(round(words * TOKENS_A_WORD), 0, "gpt-6-luna"))
    assert cost is not None
    return cost


def told(sentence: str) -> bool:
    return sentence in " ".join(PAGE.read_text(encoding="utf-8").split())


def test_the_price_of_a_thousand_pairs(decision_server: Decide) -> None:
    cases = [PairwiseCase(case_id=f"p{n}", input=QUESTION, output=ANSWER, output_b=ANSWER) for n in range(20)]
    harness, judge = JudgeHarness.standard("pairwise"), judge_of(decision_server, "pairwise")
    usages = [result.usage for result in harness.evaluate_many(judge, cases)]
    calls, words = sum(one.calls for one in usages), sum(one.input_tokens or 0 for one in usages)
    assert calls == 41
    sentence = f"1,000 pairs are {50 * calls:,} requests and {dollars(50 * words):.2f} dollars"
    assert told(sentence), sentence


def test_the_price_of_a_passport(decision_server: Decide) -> None:
    cases = [AnswerCase(case_id=f"a{n}", input=QUESTION, output=ANSWER, gold="PASS") for n in range(100)]
    judge = judge_of(decision_server, "labels")
    office = PassportOffice(judge, cases)
    (asked,) = JudgeHarness.quick("labels").evaluate_many(judge, cases[:1])
    words = office.calls * (asked.usage.input_tokens or 0) / asked.usage.calls
    sentence = f"a passport of 100 cases is {office.calls} requests and {dollars(words):.3f} dollars"
    assert told(sentence), sentence
