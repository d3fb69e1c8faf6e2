"""Judges of a configuration that are asked at half the price, on servers that serve another tier than asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.openai_server import OpenAIServer, Reply, Request
from support.provider_wire import Answer

from judgeharness_integrations import AnswerCase, HarnessResult, JudgeHarness
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.runs.building import run_report
from judgeharness_integrations.cli.run_place import run_parts
from judgeharness_integrations.judging.config import build_harness_options, build_judge, load_config

Serve = Callable[..., OpenAIServer]
CASE = AnswerCase(case_id="c", input="q", output="an answer")
NO_ROOM = Reply.status(429, message="Resource unavailable", error_code="resource_unavailable")
NO_TIER = Reply.status(400, message="Invalid service_tier argument", error_code="invalid_request_error")


def configuration(folder: Path, server: OpenAIServer | None, *, model: str = "openai:gpt-4o", **changes: Any) -> Path:
    address = "" if server is None else server.url if "genai" in model else f"{server.url}/v1"
    judge = {
        "name": "mine",
        "adapter": "langchain",
        "evaluator": "LabelJudge",
        "evaluator_options": {"taxonomy": {"good": "", "bad": ""}, "output": "text"},
        "model": model,
        "model_options": {"base_url": address, "api_key": "test", "max_retries": 0},
    }
    document = {
        "judges": [judge | changes.pop("judge", {})],
        "harness": {"perturbations": ["none"], "repetitions": 3, "aggregation_rule": "majority"},
        "execution": {"tier": "flex", "max_attempts": 1, "max_concurrency": 1},
    }
    file = folder / "config.json"
    file.write_text(json.dumps(document | changes), "utf-8")
    return file


def measured(file: Path) -> HarnessResult:
    config = load_config(file)
    return JudgeHarness(**build_harness_options(config), observers=()).evaluate(build_judge(config, 0), CASE)


def tiers(server: OpenAIServer) -> list[str | None]:
    return [request.body.get("service_tier", request.body.get("serviceTier")) for request in server.requests]


def answered(_: Request, tier: str | None = None) -> Reply:
    return Reply.of(Answer(text="Fine.\n{code}: good", tier=tier))


def by_tier(refusal: Reply) -> Callable[[Request], Reply]:
    return lambda request: refusal if request.body.get("service_tier") == "flex" else answered(request)


def test_a_judge_is_asked_and_billed_at_the_tier_of_the_configuration(openai_server: Serve, tmp_path: Path) -> None:
    server = openai_server(answered)
    result = measured(configuration(tmp_path, server))
    assert (result.verdict, tiers(server)) == ("good", ["flex"] * 3)
    assert [row.service_tier for row in result.rows] == ["flex"] * 3
    assert not result.only.outcomes["error"]
    assert run_report([result]).judges[0].warnings == ()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("refusal", [NO_ROOM, NO_TIER, Reply.status(503)], ids=["429", "400", "503"])
def test_what_a_tier_refuses_the_standard_one_answers_at_once(
    openai_server: Serve, tmp_path: Path, refusal: Reply
) -> None:
    server = openai_server(by_tier(refusal))
    result = measured(configuration(tmp_path, server))
    assert (result.verdict, tiers(server)) == ("good", ["flex", None] * 3)
    assert result.usage.attempts == 3
    [told] = run_report([result]).judges[0].warnings
    assert told == "3 calls asked at tier flex: 3 served at tier standard (3 refused at flex)"


def test_a_tier_that_a_gateway_serves_instead_is_counted_and_said(openai_server: Serve, tmp_path: Path) -> None:
    server = openai_server(lambda request: answered(request, tier="default" if request.number else None))
    [told] = run_report([measured(configuration(tmp_path, server))]).judges[0].warnings
    assert told == "3 calls asked at tier flex: 2 served at tier standard"


def test_a_refusal_of_both_tiers_is_one_of_the_call(openai_server: Serve, tmp_path: Path) -> None:
    server = openai_server([Reply.status(429)])
    result = measured(configuration(tmp_path, server))
    assert (result.status, server.calls) == ("not_graded", 6)


def test_an_error_that_is_no_matter_of_tiers_is_not_asked_about_twice(openai_server: Serve, tmp_path: Path) -> None:
    server = openai_server([Reply.status(401)])
    assert measured(configuration(tmp_path, server)).status == "not_graded"
    assert set(tiers(server)) == {"flex"}


def test_a_judge_may_have_a_tier_of_its_own(openai_server: Serve, tmp_path: Path) -> None:
    server = openai_server(answered)
    measured(configuration(tmp_path, server, judge={"tier": "standard"}))
    assert tiers(server) == [None] * 3


def test_the_tier_is_no_part_of_a_judges_identity(openai_server: Serve, tmp_path: Path) -> None:
    server = openai_server(answered)
    at_half = build_judge(load_config(configuration(tmp_path, server)), 0)
    standard = build_judge(load_config(configuration(tmp_path, server, execution={})), 0)
    assert at_half.identity == standard.identity


def test_a_run_may_go_on_at_another_tier(tmp_path: Path) -> None:
    def parts(**changes: Any) -> dict[str, Any]:
        config = load_config(configuration(tmp_path, None, **changes))
        judge = build_judge(config, 0)
        return run_parts(config, JudgeHarness(**build_harness_options(config)), [judge], cases={})

    assert parts() == parts(execution={}) == parts(judge={"tier": "standard"})


def test_what_one_of_the_two_learns_of_how_the_model_answers_the_other_knows(
    openai_server: Serve, tmp_path: Path
) -> None:
    options = {"taxonomy": {"good": "", "bad": ""}}
    judge: Any = build_judge(load_config(configuration(tmp_path, None, judge={"evaluator_options": options})), 0)
    judge.learn({"output_mode": "text"})
    assert judge.cheaper.identity.learned == judge.standard.identity.learned == {"output": "text"}
    server = openai_server(by_tier(NO_ROOM))
    judge = build_judge(load_config(configuration(tmp_path, server, judge={"evaluator_options": options})), 0)
    JudgeHarness.single("labels", observers=()).evaluate(judge, CASE)
    assert judge.identity.learned == judge.standard.identity.learned != {}


def test_calls_at_half_the_price_are_waited_for_unless_a_timeout_is_given(tmp_path: Path) -> None:
    for execution, seconds in (({"tier": "flex"}, 900.0), ({"tier": "flex", "timeout_s": 5.0}, 5.0), ({}, None)):
        config = load_config(configuration(tmp_path, None, execution=execution))
        assert build_harness_options(config).get("timeout_s") == seconds


def test_gemini_is_asked_at_the_tier_as_its_client_says_it(openai_server: Serve, tmp_path: Path) -> None:
    server = openai_server(answered)
    result = measured(configuration(tmp_path, server, model="google_genai:gemini-3.5-flash"))
    assert (result.verdict, tiers(server)) == ("good", ["flex"] * 3)
    [told] = run_report([result]).judges[0].warnings  # LangChain's client keeps the provider's word to itself
    assert told == "3 calls asked at tier flex: 3 whose answers do not say which tier served"


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        (
            {"model": "anthropic:claude-sonnet-4-6"},
            "model 'anthropic:claude-sonnet-4-6' has no tier flex in its client: give its judge tier: standard.",
        ),
        ({"model": "openai:gpt-4o", "evaluator": "DecisionJudge", "evaluator_options": {}}, "asked at one tier"),
        (
            {"adapter": "langsmith", "evaluator": "x", "evaluator_options": {}},
            "'langsmith' cannot ask at tier flex: give this judge tier: standard.",
        ),
    ],
)
def test_a_model_without_the_tier_is_refused_in_one_sentence(tmp_path: Path, judge: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        build_judge(load_config(configuration(tmp_path, None, judge=judge)), 0)


def test_a_function_asks_at_a_tier_of_its_own_choice(tmp_path: Path) -> None:
    document = {
        "judges": [{"name": "mine", "callable": "os:getcwd"}],
        "harness": {"shape": "labels"},
        "execution": {"tier": "flex"},
    }
    (tmp_path / "config.json").write_text(json.dumps(document), "utf-8")
    with pytest.raises(
        ConfigError, match="a function asks at a tier of its own choice: give this judge tier: standard"
    ):
        build_judge(load_config(tmp_path / "config.json"), 0)
