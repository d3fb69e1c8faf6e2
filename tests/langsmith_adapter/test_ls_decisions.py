"""Decision models in LangSmith's `evaluate`: the probability stands beside the verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langsmith import Client, aevaluate, evaluate
from support.decision_fixtures import KEY, Decide, decision_server
from support.decision_models_there import decision_models_are_there
from support.langsmith_server import LangSmithServer
from support.planted_decisions import Planted
from support.planted_passports import granted_from

if not decision_models_are_there():
    pytest.skip("langchain-openai has no decision models yet", allow_module_level=True)

from langchain_core._api import suppress_langchain_beta_warning
from langchain_openai.decisions import OpenAIDecisions

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_langchain import DecisionJudge, harness_evaluator
from judgeharness_langsmith import HarnessRunEvaluator
from judgeharness_langsmith.feedback import Family

__all__ = ["decision_server"]  # a fixture
Serve = Callable[..., LangSmithServer]
ANSWERS = {"Capital of France?": "It is Paris.", "Capital of Peru?": "Lima, I think."}
PLANTED = Planted()


def judge_of(decide: Decide, **options: Any) -> DecisionJudge:
    server = decide(PLANTED)
    return DecisionJudge("openai:gpt-6-luna", base_url=f"{server.url}/v1", api_key=KEY, **options)


def application(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"answer": ANSWERS[inputs["question"]]}


def dataset(client: Client) -> str:
    made = client.create_dataset("capitals")
    client.create_examples(dataset_id=made.id, examples=[{"inputs": {"question": question}} for question in ANSWERS])
    return "capitals"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_probability_of_a_pass_is_feedback_of_its_own(
    langsmith_server: Serve, decision_server: Decide, *, asynchronous: bool
) -> None:
    server = langsmith_server()
    client = server.client()
    harness = JudgeHarness(perturbations=["none", "negated"], repetitions=1, aggregation_rule="mean_probability(0.6)")
    evaluator = HarnessRunEvaluator(judge_of(decision_server, criteria=["help", "facts"]), harness)
    members = ("", ".consistency", ".valid_samples", ".probability")
    assert evaluator.feedback_keys == [f"{name}{member}" for name in ("help", "facts") for member in members]
    data = dataset(client)
    if asynchronous:

        async def target(inputs: dict[str, Any]) -> dict[str, Any]:
            return application(inputs)

        async def run() -> list[Any]:
            return [row async for row in await aevaluate(target, data=data, evaluators=[evaluator], client=client)]

        rows = asyncio.run(run())
    else:
        rows = list(evaluate(application, data=data, evaluators=[evaluator], client=client))
    client.flush()
    assert server.unknown == []
    assert len(rows) == 2
    for row in rows:
        found = {one.key: one for one in row["evaluation_results"]["results"]}
        for name in ("help", "facts"):
            share = PLANTED.passes(name, row["run"].outputs["answer"])
            assert found[f"{name}.probability"].score == pytest.approx(share)
            assert found[f"{name}.probability"].comment == (
                "mean probability of PASS over 2 samples, as the model gave it"
            )
            decided = max(share, 1 - share) >= 0.6
            assert found[name].score == ((share > 0.5) if decided else None)
    posted = [one for one in server.feedback if one["key"] == "help.probability"]
    expected = sorted(PLANTED.passes("help", answer) for answer in ANSWERS.values())
    assert sorted(one["score"] for one in posted) == pytest.approx(expected, abs=1e-4)  # LangSmith rounds


def test_a_passport_decides_in_evaluate(langsmith_server: Serve, decision_server: Decide) -> None:
    judge = judge_of(decision_server, criteria="help")
    evaluator = HarnessRunEvaluator(judge, JudgeHarness.under(granted_from(0.6, judge)))
    client = langsmith_server().client()
    rows = list(evaluate(application, data=dataset(client), evaluators=[evaluator], client=client))
    scores = {}
    for row in rows:
        found = {one.key: one for one in row["evaluation_results"]["results"]}
        scores[row["run"].outputs["answer"]] = (found["help"].score, found["help.probability"].score)
    france, peru = (PLANTED.passes("help", answer) for answer in ANSWERS.values())  # .58 and .31
    assert scores == {
        "It is Paris.": (None, pytest.approx(france)),
        "Lima, I think.": (0, pytest.approx(peru)),
    }


def test_a_decision_model_is_taken_as_it_is(langsmith_server: Serve, decision_server: Decide) -> None:
    client = langsmith_server().client()
    with suppress_langchain_beta_warning():
        model = OpenAIDecisions(model="gpt-6-luna", base_url=f"{decision_server(PLANTED).url}/v1", api_key=KEY)
    evaluator = HarnessRunEvaluator(model, JudgeHarness.quick("labels", on_unfit="skip"), key="good")
    rows = list(evaluate(application, data=dataset(client), evaluators=[evaluator], client=client))
    assert all("good.probability" in {one.key for one in row["evaluation_results"]["results"]} for row in rows)


def test_a_harnessed_one_too(decision_server: Decide) -> None:
    harnessed = harness_evaluator(judge_of(decision_server, criteria="help"))
    assert "help.probability" in HarnessRunEvaluator(harnessed).feedback_keys


def test_of_two_answers_it_is_the_probability_of_the_verdict(decision_server: Decide) -> None:
    judge = judge_of(decision_server, shape="pairwise", criteria="help")
    harness = JudgeHarness(perturbations=["none", "position_swap"], repetitions=1, aggregation_rule="swap_consensus")
    result = harness.evaluate(judge, PairwiseCase(case_id="p", output="the first", output_b="the second"))
    found = {one.key: one for one in Family.of(judge, harness, None).results(result)}
    shares = PLANTED.pair("help", "the first", "the second")
    best = max(zip(shares, ("A", "B", "TIE"), strict=True))
    assert found["help"].value == best[1]
    assert found["help.probability"].score == pytest.approx(best[0])
    assert str(found["help.probability"].comment).startswith(f"mean probability of {best[1]} over 2 samples")
    assert str(found["help.position_flip"].comment).endswith("; probabilities differ by 0.000")


def test_without_an_answer_it_was_not_measured(decision_server: Decide) -> None:
    server = decision_server(Planted(refuses=lambda *_: True))
    judge = DecisionJudge("openai:gpt-6-luna", base_url=f"{server.url}/v1", api_key=KEY, criteria="help")
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority")
    result = harness.evaluate(judge, AnswerCase(case_id="a", output="x"))
    found = {one.key: one for one in Family.of(judge, harness, None).results(result)}
    assert (found["help.probability"].score, found["help.probability"].comment) == (
        None,
        "not measured: no valid sample with probabilities",
    )


def test_other_judges_have_none() -> None:
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority")
    assert "verdict.probability" not in Family.of(ScriptedJudge(["PASS"]), harness, None).keys
