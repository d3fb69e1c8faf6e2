"""The harness alone tries again: what a client or a model of our making would retry is not paid for twice."""

from __future__ import annotations

from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from support.openai_server import Reply
from support.openevals_judging import CASE, PROMPT, Serve, scored, told

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.judging.adapters import JudgeSpec
from judgeharness_openevals import harness_judge
from judgeharness_openevals.introspecting import chat_model
from judgeharness_openevals.wrapping import judge_from_spec

FAILING = Reply.status(503, retry_after_ms=1)
CLIENTS = pytest.mark.parametrize(
    ("factory", "kind"), [(create_llm_as_judge, OpenAI), (create_async_llm_as_judge, AsyncOpenAI)]
)


def design(**options: Any) -> JudgeHarness:
    given: dict[str, Any] = {"max_attempts": 2, "max_concurrency": 1} | options
    return JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority", **given)


@CLIENTS
def test_a_client_retries_nothing(openai_server: Serve, factory: Any, kind: Any) -> None:
    server = openai_server([FAILING])
    client = kind(base_url=f"{server.url}/v1", api_key="test")
    bare = factory(prompt=PROMPT, judge=client, model="gpt-4o-test")
    answer = told(harness_judge(bare, design(), on_not_graded="report"), **CASE)
    assert answer["metadata"]["outcomes"]["error"] == 2
    assert server.calls == 4
    assert client.max_retries == 2


def test_a_wrapped_client_stays_wrapped(openai_server: Serve) -> None:
    server = openai_server([scored(score=True)])
    client: Any = OpenAI(base_url=f"{server.url}/v1", api_key="test")
    wrapped, asked = client.chat.completions.create, list[str]()
    client.chat.completions.create = lambda **given: (asked.append(given["model"]), wrapped(**given))[1]
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=client, model="gpt-4o-test"))
    assert judge(**CASE)["score"] is True
    assert asked == ["gpt-4o-test"] * 6


@pytest.mark.sampled(3)
@CLIENTS
@pytest.mark.parametrize("reply", [Reply.garbage(), Reply.empty(), Reply.malformed()])
def test_a_reply_of_a_client_that_is_none_is_a_failed_call_and_asked_for_again(
    openai_server: Serve, factory: Any, kind: Any, reply: Reply
) -> None:
    server = openai_server([reply, scored(score=True)])
    client = kind(base_url=f"{server.url}/v1", api_key="test")
    answer = told(harness_judge(factory(prompt=PROMPT, judge=client, model="gpt-4o-test"), design()), **CASE)
    assert (answer["score"], answer["metadata"]["outcomes"]["ok"]) == (True, 2)
    assert server.calls == 4


def test_a_model_made_of_its_name_retries_nothing(openai_server: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = openai_server([FAILING])
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    bare = create_llm_as_judge(prompt=PROMPT, model="openai:gpt-4o-test")
    judge = harness_judge(bare, design(), on_not_graded="report")
    assert judge(**CASE)["metadata"]["outcomes"]["error"] == 2
    assert server.calls == 4


@pytest.mark.slow
def test_a_model_of_a_configuration_retries_nothing_unless_told(openai_server: Serve) -> None:
    server = openai_server([FAILING])
    options: dict[str, Any] = {"api_key": "test", "base_url": f"{server.url}/v1"}
    spec = JudgeSpec(
        name="mine",
        evaluator="llm_as_judge",
        model="openai:gpt-4o-test",
        model_options=options,
        evaluator_options={"prompt": "{outputs}"},
    )
    case: Any = {"outputs": "an answer"}
    function = judge_from_spec(spec).function  # type: ignore[attr-defined]
    told(harness_judge(function, design(), on_not_graded="report"), **case)
    assert server.calls == 4
    assert chat_model("openai:gpt-4o-test", **options, max_retries=5).max_retries == 5
