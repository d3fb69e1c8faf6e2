"""Whatever changes what a model answers is in a judge's identity; secrets are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_classic.evaluation import load_evaluator as classic_load
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr
from support.openai_server import OpenAIServer, chat_model, longer_wins

from judgeharness_integrations import CalibrationSet, JudgeHarness, PairwiseCase
from judgeharness_langchain import EvaluatorJudge, ScoreJudge
from judgeharness_langchain.models import model_parameters

Serve = Callable[..., OpenAIServer]


def openai(**options: Any) -> ChatOpenAI:
    return ChatOpenAI(**{"model": "gpt-4o", "api_key": "sk-secret", "max_retries": 0} | options)


@pytest.mark.parametrize(
    "change",
    [
        {"frequency_penalty": 0.5},
        {"presence_penalty": 0.5},
        {"stop": ["END"]},
        {"verbosity": "low"},
        {"extra_body": {"chat_template_kwargs": {"enable_thinking": True}}},
        {"model_kwargs": {"response_format": {"type": "json_object"}}},
        {"reasoning_effort": "high"},
        {"reasoning": {"effort": "low", "summary": "auto"}},
        {"seed": 7},
        {"n": 2},
        {"logit_bias": {"50256": -100}},
        {"max_tokens": 100},
        {"base_url": "https://gateway.example/v1"},
    ],
)
def test_what_changes_the_answers_changes_the_identity(change: dict[str, Any]) -> None:
    changed = model_parameters(openai(**change))
    assert changed != model_parameters(openai())
    assert json.loads(json.dumps(changed)) == changed


@pytest.mark.parametrize(
    "same",
    [
        {"logprobs": True, "top_logprobs": 3},
        {"api_key": "sk-other"},
        {"timeout": 5},
        {"max_retries": 3},
        {"service_tier": "flex"},
        {"prompt_cache_options": {"mode": "explicit"}},
        {"model_kwargs": {"prompt_cache_key": "suite", "prompt_cache_retention": "24h"}},
        {"extra_body": {"prompt_cache_key": "suite"}},
    ],
)
def test_what_does_not_change_the_answers_changes_nothing(same: dict[str, Any]) -> None:
    assert model_parameters(openai(**same)) == model_parameters(openai())


def test_secrets_and_headers_are_never_told() -> None:
    model = openai(
        base_url="https://user:hunter2@Gateway.example:443/v1/?api-key=hunter3#part",
        default_headers={"Authorization": "Bearer hunter4"},
        extra_body={"api_key": "hunter5", "provider": {"Access-Token": "hunter6", "order": ["a"]}, "max_tokens": 5},
        model_kwargs={"extra_headers": {"X-Key": "hunter7"}, "extra_query": {"key": "hunter8"}},
    ).bind(cookie="hunter9", proxy="http://me:hunter10@proxy.example")
    told = model_parameters(model)
    assert "hunter" not in json.dumps(told)
    assert "sk-secret" not in json.dumps(told)
    assert told["endpoint"] == "gateway.example/v1"
    assert told["extra_body"] == {"provider": {"order": ["a"]}, "max_tokens": 5}
    assert told["proxy"] == "http://proxy.example"
    assert "model_kwargs" not in told


def test_bindings_and_calls_of_a_chain_win() -> None:
    model: Any = openai(temperature=0.1).bind(temperature=0.2, stop=["a"], top_logprobs=2).bind(temperature=0.3, odd=1)
    told = model_parameters(model)
    assert (told["temperature"], told["stop"], told["odd"]) == (0.3, ["a"], 1)
    assert "top_logprobs" not in told
    assert model_parameters(model, {"temperature": 0.4})["temperature"] == 0.4
    plain = EvaluatorJudge.of(classic_load("criteria", llm=openai()))
    stopped = EvaluatorJudge.of(classic_load("criteria", llm=openai(), llm_kwargs={"max_tokens": 9}))
    assert stopped.identity.parameters == {**plain.identity.parameters, "max_tokens": 9}


class Schema(BaseModel):
    grade: int = 1


def test_any_value_becomes_json_or_nothing() -> None:
    model: Any = SimpleNamespace(
        temperature=float("inf"),
        top_p=0,
        seed=None,
        response_format=Schema,
        reasoning=Schema(),
        thinking={"budget_tokens": 1024, "client": object(), "key": SecretStr("x")},
        truncation=str,
        stop=(),
        verbosity=True,
    )
    told = model_parameters(model)
    assert told == {
        "temperature": "inf",
        "top_p": 0,
        "response_format": Schema.model_json_schema(),
        "reasoning": {"grade": 1},
        "thinking": {"budget_tokens": 1024},
        "truncation": "str",
        "verbosity": True,
    }


@pytest.mark.parametrize(
    ("address", "endpoint"),
    [
        ("http://LOCALHOST:11434", "localhost:11434"),
        ("localhost:11434/", "localhost:11434"),
        ("http://host:80/v1//", "host/v1"),
        ("https://host:8443/V1", "host:8443/V1"),
        ("http://host:port", None),
        ("http://[half", None),
        ("/only/a/path", None),
    ],
)
def test_an_endpoint_is_host_and_path(address: str, endpoint: str | None) -> None:
    assert model_parameters(SimpleNamespace(base_url=address)).get("endpoint") == endpoint


def test_the_endpoint_of_the_environment_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    named = model_parameters(openai(base_url="https://api.openai.com/v1/"))
    assert model_parameters(openai()) == named
    assert named["endpoint"] == "api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert model_parameters(openai())["endpoint"] == "127.0.0.1:9/v1"
    assert model_parameters(FakeListChatModel(responses=["x"])) == {}


@pytest.mark.slow
def test_a_calibration_expires_when_the_endpoint_changes(openai_server: Serve) -> None:
    one, other = openai_server(longer_wins), openai_server(longer_wins)
    case = PairwiseCase(case_id="c", input="q", output="a", output_b="bb")
    harness = JudgeHarness.quick("pairwise")
    judge = EvaluatorJudge.of(classic_load("pairwise_string", llm=chat_model(one)))
    harness = harness.with_calibration(harness.calibrate(judge, CalibrationSet("people", ((case, "B"),))))
    moved = EvaluatorJudge.of(classic_load("pairwise_string", llm=chat_model(other)))
    again = EvaluatorJudge.of(classic_load("pairwise_string", llm=chat_model(one)))
    states = [harness.evaluate(j, case).calibration_state for j in (judge, again, moved)]
    assert [str(state) for state in states] == ["valid", "valid", "expired: parameters changed"]


def test_our_judges_tell_the_same(openai_server: Serve) -> None:
    model = openai(frequency_penalty=0.5)
    assert ScoreJudge(model).identity.parameters == {**model_parameters(model), "output": "auto"}
