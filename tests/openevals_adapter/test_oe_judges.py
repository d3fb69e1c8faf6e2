"""Judges of openevals under a harness, over the real `ChatOpenAI` and OpenAI's own clients."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

import pytest
from langchain_core.prompts import ChatPromptTemplate
from openai import AsyncOpenAI, OpenAI
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from support.openai_server import OpenAIServer, Reply, chat_model
from support.openevals_judging import CASE, MEASURED, PROMPT, Serve, by_format, once, scored, told, without

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import PlanError, UnsupportedEvaluatorError, UsageError
from judgeharness_openevals import OpenevalsJudge, harness_judge

FACTORIES = pytest.mark.parametrize("factory", [create_llm_as_judge, create_async_llm_as_judge])


def client(server: OpenAIServer, factory: Any) -> Any:
    kind = AsyncOpenAI if factory is create_async_llm_as_judge else OpenAI
    return kind(base_url=f"{server.url}/v1", api_key="test", max_retries=0)


@pytest.mark.sampled(2)
@FACTORIES
@pytest.mark.parametrize(
    ("options", "score", "verdict", "rule"),
    [
        ({}, True, "PASS", "supermajority(2/3)"),
        ({"feedback_key": "correctness"}, False, "FAIL", "supermajority(2/3)"),
        ({"continuous": True}, 0.7, 0.7, "median"),
        ({"choices": [0, 1, 2]}, 2, 2, "mode"),
        ({"use_reasoning": False}, True, "PASS", "supermajority(2/3)"),
    ],
)
def test_a_judge_keeps_its_protocol_keys_and_kind_of_score(
    openai_server: Serve, *, factory: Any, options: dict[str, Any], score: Any, verdict: Any, rule: str
) -> None:
    server = openai_server([scored(score)])
    bare = factory(prompt=PROMPT, judge=chat_model(server), **options)
    judge = harness_judge(bare)
    answer, native = told(judge, **CASE), told(bare, **CASE)

    assert inspect.iscoroutinefunction(judge) == inspect.iscoroutinefunction(bare)
    assert inspect.signature(judge) == inspect.signature(bare)
    assert without(answer, "metadata") == without(native, "metadata")
    assert answer.keys() == native.keys()
    assert type(answer["score"]) is type(score)
    assert server.calls == 6 + 1
    measured = answer["metadata"]
    assert measured.keys() >= MEASURED
    assert (measured["status"], measured["verdict"], measured["aggregation_rule"]) == ("decided", verdict, rule)
    assert measured["sample_distribution"] == [{"verdict": verdict, "count": 6}]
    assert (measured["valid_samples"], measured["planned_samples"]) == (6, 6)
    assert measured["calibration_validity"] is None
    assert json.loads(json.dumps(answer)) == answer


@pytest.mark.slow
@FACTORIES
def test_a_judge_that_likes_formats_abstains(openai_server: Serve, factory: Any) -> None:
    judge = harness_judge(factory(prompt=PROMPT, judge=chat_model(openai_server(by_format))))
    answer = told(judge, **CASE)
    assert (answer["key"], answer["score"]) == ("score", None)
    assert answer["comment"].startswith("abstained: ")
    assert (answer["metadata"]["status"], answer["metadata"]["verdict"]) == ("abstained", "ABSTAIN")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("score", [pytest.param(True, id="truth"), 0.25])
@FACTORIES
def test_one_unperturbed_sample_equals_the_bare_judge(openai_server: Serve, factory: Any, score: Any) -> None:
    server = openai_server([scored(score)])
    bare = factory(prompt=PROMPT, judge=chat_model(server), continuous=isinstance(score, float))
    answer = told(harness_judge(bare, once()), **CASE)
    assert without(answer, "metadata") == without(told(bare, **CASE), "metadata")
    assert answer["metadata"]["harness"]["informal"] is True
    assert server.calls == 2


def test_one_unperturbed_sample_that_is_no_verdict_has_no_score(openai_server: Serve) -> None:
    server = openai_server([scored(7)])
    bare = create_llm_as_judge(prompt=PROMPT, judge=chat_model(server), choices=[0, 1])
    answer = harness_judge(bare, once())(**CASE)
    assert (answer["score"], answer["metadata"]["status"]) == (None, "not_graded")
    assert answer["comment"].endswith("; first unparsed: answered 7, which is none of the choices: because")


@FACTORIES
def test_one_unperturbed_sample_keeps_the_judges_exception(openai_server: Serve, factory: Any) -> None:
    server = openai_server([Reply.text("no JSON")])
    bare = factory(prompt=PROMPT, judge=chat_model(server))
    with pytest.raises(Exception, match=r".") as expected:
        told(bare, **CASE)
    with pytest.raises(type(expected.value)) as raised:
        told(harness_judge(bare, once()), **CASE)
    assert str(raised.value) == str(expected.value)


@FACTORIES
def test_an_openai_client_is_asked_and_watched(openai_server: Serve, factory: Any) -> None:
    server = openai_server([scored(score=True, reasoning="right")])
    bare = factory(prompt=PROMPT, judge=client(server, factory), model="openai:gpt-4o-test")
    judge = harness_judge(bare, JudgeHarness.quick("labels"))
    answer = told(judge, **CASE)
    assert (answer["score"], answer["comment"]) == (True, "right")
    document = answer["metadata"]["harness"]
    assert document["judge_model"] == "gpt-4o-test"
    assert document["usage"]["input_tokens"] > 0
    assert judge.judge.identity.parameters == {"endpoint": server.url.removeprefix("http://") + "/v1"}


def test_a_model_by_its_name_is_made_once_and_known(openai_server: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = openai_server([scored(score=True)])
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    bare = create_llm_as_judge(prompt=PROMPT, model="openai:gpt-4o-test")
    judge = harness_judge(bare, JudgeHarness.quick("labels"))
    first = judge.judge.identity
    assert judge(**CASE)["score"] is True
    assert harness_judge(bare).judge.identity == first  # the same once openevals has made its model
    assert first.model == "gpt-4o-test"


def test_a_model_that_cannot_be_made_fails_as_it_does_bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    bare = create_llm_as_judge(prompt=PROMPT, model="openai:gpt-4o")
    judge = harness_judge(bare, JudgeHarness.quick("labels"), on_not_graded="report")
    answer = judge(**CASE)
    assert (answer["score"], answer["metadata"]["status"]) == (None, "not_graded")
    assert answer["comment"].startswith("not graded: ")
    assert "api_key" in answer["comment"]
    assert judge.judge.identity.model == "gpt-4o"


@pytest.mark.slow
def test_rows_hold_the_evidence_of_each_call(openai_server: Serve) -> None:
    server = openai_server([scored(score=True)])
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=chat_model(server)))
    result = JudgeHarness.standard("labels").evaluate(judge, AnswerCase(case_id="a", input="q", output="an answer"))
    assert {row.model for row in result.rows} == {"gpt-4o-test"}
    assert all(row.input_tokens and row.output_tokens and row.raw for row in result.rows)
    assert len({row.attributes["response_id"] for row in result.rows}) == 6
    assert result.only.independence.status != "collapsed"


def test_the_identity_is_of_all_that_makes_the_prompt(openai_server: Serve) -> None:
    model = chat_model(openai_server([scored(score=True)]), temperature=0.5)

    def identity(**options: Any) -> Any:
        judge = create_llm_as_judge(**{"prompt": PROMPT, "judge": model} | options)
        return OpenevalsJudge.of(judge).identity

    few = [{"inputs": "a", "outputs": "b", "score": True}]
    template = ChatPromptTemplate.from_template(PROMPT)
    changes: list[dict[str, Any]] = [
        {"prompt": "Other {outputs}"},
        {"prompt": template},
        {"system": "Be strict."},
        {"few_shot_examples": few},
        {"continuous": True},
        {"use_reasoning": False},
        {"structured_output_kwargs": {"method": "json_mode"}},
        {"judge": model.model_copy(update={"temperature": 1.0})},
    ]
    found = [identity(), *(identity(**change) for change in changes)]
    assert len({repr(one) for one in found}) == len(found)
    assert identity() == found[0]
    assert identity(feedback_key="other").prompt_hash == found[0].prompt_hash
    assert found[0].parameters["temperature"] == 0.5
    assert identity(prompt=lambda **_: []) is None
    assert identity(prompt=template | (lambda value: value)) is None


@pytest.mark.slow
def test_a_prompt_that_is_a_function_is_asked(openai_server: Serve) -> None:
    server = openai_server([scored(score=True)])

    def prompt(*, outputs: str, **_: Any) -> list[dict[str, Any]]:
        return [{"role": "user", "content": f"Is this good? {outputs}"}]

    judge = harness_judge(create_llm_as_judge(prompt=prompt, judge=chat_model(server)), JudgeHarness.quick("labels"))
    assert judge(outputs="yes, it is")["score"] is True
    assert "Is this good? yes, it is" in {request.user for request in server.requests}
    assert judge(outputs="yes, it is")["metadata"]["harness"]["judge_model"] == "gpt-4o-test"


@pytest.mark.slow
def test_it_works_in_a_running_loop_and_repeatedly(openai_server: Serve) -> None:
    server = openai_server([scored(score=True)])
    model = chat_model(server)
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=model))
    asynchronous = harness_judge(create_async_llm_as_judge(prompt=PROMPT, judge=model))

    async def inside() -> list[Any]:
        several = await asyncio.gather(*(asynchronous(**CASE) for _ in range(3)))
        return [judge(**CASE)["score"], *(answer["score"] for answer in several)]

    assert asyncio.run(inside()) == [True] * 4
    assert [judge(**CASE)["score"] for _ in range(2)] == [True, True]


@pytest.mark.slow
def test_what_does_not_fit_is_skipped_by_default_and_refused_otherwise(openai_server: Serve) -> None:
    server = openai_server([scored(score=True)])
    bare = create_llm_as_judge(prompt="Is it good? {outputs}", judge=chat_model(server))
    measured = harness_judge(bare)(outputs={"count": 3})["metadata"]
    assert measured["planned_samples"] == 3
    assert list(measured["harness"]["skipped"]) == ["format_change"]
    with pytest.raises(PlanError, match="format_change"):
        harness_judge(bare, JudgeHarness.standard("labels"))(outputs={"count": 3})


def test_cases_that_are_not_its_to_judge_are_refused_in_one_sentence(openai_server: Serve) -> None:
    bare = create_llm_as_judge(
        prompt="{inputs} {outputs} {context}", judge=chat_model(openai_server([scored(score=True)]))
    )
    judge, harness = harness_judge(bare).judge, JudgeHarness.quick("labels")
    cases: list[tuple[Any, str]] = [
        (PairwiseCase(case_id="p", output="a", output_b="b"), "has two"),
        ("a text", "not a str"),
        (AnswerCase(case_id="a", output="an answer"), "names context and inputs, which the case lacks"),
    ]
    for case, why in cases:
        with pytest.raises(PlanError, match=why):
            harness.evaluate(judge, case)
    full = AnswerCase(case_id="a", output="an answer", input="q", context="c")
    assert harness.evaluate(judge, full).verdict == "PASS"


def test_the_refusals_of_harness_judge(openai_server: Serve) -> None:
    bare = create_llm_as_judge(prompt=PROMPT, judge=chat_model(openai_server([scored(score=True)])))
    judge = harness_judge(bare)
    with pytest.raises(UsageError, match="harnessed already"):
        harness_judge(judge)
    with pytest.raises(UsageError, match=r"a OpenevalsJudge is no openevals evaluator|an? OpenevalsJudge"):
        harness_judge(judge.judge)
    with pytest.raises(UsageError, match="harness is a JudgeHarness"):
        harness_judge(bare, "standard")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedEvaluatorError, match="give a function"):
        harness_judge("judge")
    with pytest.raises(UnsupportedEvaluatorError, match="takes outputs"):
        harness_judge(lambda run, example: True)
    with pytest.raises(UnsupportedEvaluatorError, match="takes outputs"):
        harness_judge(dict)
