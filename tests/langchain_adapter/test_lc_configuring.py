"""Judges of configuration files over any model `init_chat_model` makes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.openai_server import OpenAIServer, Reply, longer_wins

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import ConfigError, NotInstalledError, UnknownNameError, UsageError
from judgeharness_integrations.judging.adapters import JudgeSpec, find_adapter
from judgeharness_langchain import LabelJudge, ScoreJudge, loading
from judgeharness_langchain.adapter import ADAPTER
from judgeharness_langchain.models import sentence

pytestmark = pytest.mark.filterwarnings("ignore:langchain-classic is not installed")
Serve = Callable[..., OpenAIServer]
PAIR = PairwiseCase(case_id="c", input="q", output="short", output_b="a much longer answer")


def options(server: OpenAIServer) -> dict[str, Any]:
    return {"base_url": f"{server.url}/v1", "api_key": "test", "max_retries": 0}


def spec(evaluator: str, **changes: Any) -> JudgeSpec:
    defaults: dict[str, Any] = {"model": "openai:gpt-4o", "model_options": {}, "evaluator_options": {}}
    return JudgeSpec(name="mine", evaluator=evaluator, **defaults | changes)


def test_a_langchain_evaluator_by_its_name(openai_server: Serve) -> None:
    server = openai_server(longer_wins)
    judge = find_adapter("langchain").build_judge(spec("pairwise_string", model_options=options(server)))
    result = JudgeHarness.quick("pairwise").evaluate(judge, PAIR)
    assert (result.verdict, result.judge, result.judge_model, server.calls) == ("B", "mine", "gpt-4o", 2)


def test_one_of_our_judges_by_its_name(openai_server: Serve) -> None:
    server = openai_server([Reply.json({"reasoning": "r", "label": "good"})])
    built = ADAPTER.build_judge(
        spec("LabelJudge", model_options=options(server), evaluator_options={"taxonomy": {"good": "", "bad": ""}})
    )
    assert isinstance(built, LabelJudge)
    assert built.name == "mine"
    scored = ADAPTER.build_judge(
        spec("criteria", model_options=options(server), evaluator_options={"criteria": "depth"})
    )
    assert scored.criteria is not None
    assert [criterion.name for criterion in scored.criteria] == ["depth"]


@pytest.mark.slow
def test_a_rewriter_of_a_configuration(openai_server: Serve) -> None:
    server = openai_server([Reply.text(" reworded ")])
    assert ADAPTER.build_rewriter is not None
    rewriter: Any = ADAPTER.build_rewriter("openai:gpt-4o", options(server))
    judging = openai_server([Reply.json({"score": 3})])
    judge: Any = ADAPTER.build_judge(spec("ScoreJudge", model_options=options(judging)))
    harness = JudgeHarness(perturbations=["paraphrase"], repetitions=1, aggregation_rule="mean", rewriter=rewriter)
    assert harness.evaluate(judge, AnswerCase(case_id="c", output="an answer")).verdict == 3
    assert "\nreworded\n" in judging.requests[0].user


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"evaluator": "pairwise_strin"}, UnknownNameError, "did you mean 'pairwise_string'"),
        (
            {"evaluator": "PairwiseJudge", "evaluator_options": {"critera": "x"}},
            UnknownNameError,
            "did you mean 'criteria'",
        ),
        ({"evaluator": "CriteriaJudge"}, ConfigError, "criteria"),
        ({"evaluator": "pairwise_string", "model": None}, ConfigError, "needs a model"),
        ({"evaluator": "pairwise_string", "model": "nobody:model"}, ConfigError, "nobody:model"),
        ({"evaluator": "criteria", "evaluator_options": {"criteria": "no such"}}, ConfigError, "no such"),
        ({"evaluator": "ScoreJudge", "evaluator_options": {"scale": [9, 1]}}, UsageError, "from a lower"),
        (
            {"evaluator": "ScoreJudge", "model_options": {"temperature": "secret-key", "n": []}},
            ConfigError,
            "cannot be made: option 'temperature': Input should be a valid number.*; option 'n': Input should be",
        ),
        (
            {"evaluator": "ScoreJudge", "model_options": {"n": 0, "api_key": "secret-key"}},
            ConfigError,
            "model 'openai:gpt-4o' cannot be made: Value error, n must be at least 1",
        ),
        (
            {"evaluator": "ScoreJudge", "model": "gpt-4o", "model_options": {"model_provider": "nobody"}},
            ConfigError,
            "nobody",
        ),
        ({"evaluator": "exact_macth"}, UnknownNameError, "unknown evaluator"),
        ({"evaluator": "exact_match"}, ConfigError, "exact_match asks no model: leave out model"),
        (
            {"evaluator": "pairwise_string", "evaluator_options": {"critera": "x"}},
            UnknownNameError,
            "unknown option of pairwise_string 'critera': did you mean 'criteria'",
        ),
        ({"evaluator": "criteria", "evaluator_options": {"verbose": "secret-key"}}, ConfigError, "option 'verbose'"),
        ({"evaluator": "ScoreJudge", "evaluator_options": {"name": "other"}}, UnknownNameError, "'name'"),
        ({"evaluator": "LabelJudge", "evaluator_options": {"taxonomy": "absent.yaml"}}, ConfigError, "cannot be read"),
    ],
)
def test_what_cannot_be_used_is_onesentence(changes: dict[str, Any], error: type[Exception], words: str) -> None:
    changed: dict[str, Any] = {"model_options": {"api_key": "secret-key"}} | changes
    with pytest.raises(error, match=words) as caught:
        ADAPTER.build_judge(spec(**changed))
    assert "\n" not in str(caught.value)
    assert "secret-key" not in str(caught.value)


def test_messages_name_no_value_of_an_option() -> None:
    values = {"api_key": "secret-key", "nested": {"list": ["deep-secret", 3]}, "model_provider": "nobody", "n": "ab"}
    error = RuntimeError("secret-key and deep-secret of nobody; ab\nmore")
    assert sentence(error, values) == "[redacted] and [redacted] of nobody; ab"
    assert sentence(RuntimeError()) == "RuntimeError"


def test_a_taxonomy_stands_beside_the_configuration(openai_server: Serve, tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    path = tmp_path / "labels" / "tone.yaml"
    path.write_text("formal: Reads like a letter.\ncasual: Reads like a chat.\n")
    model_options = options(openai_server([Reply.json({"reasoning": "r", "label": "casual"})]))
    for taxonomy in ("labels/tone.yaml", str(path)):
        built: Any = ADAPTER.build_judge(
            spec(
                "LabelJudge",
                model_options=model_options,
                evaluator_options={"taxonomy": taxonomy},
                folder=tmp_path,
            )
        )
        assert list(built.taxonomy.labels) == ["formal", "casual"]


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(NotInstalledError, match=r"\[langchain-models\]"):
        ADAPTER.build_judge(spec("ScoreJudge"))


def test_a_missing_provider_is_onesentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_anthropic", None)
    with pytest.raises(ConfigError, match=r"model 'anthropic:claude': .*langchain-anthropic"):
        ADAPTER.build_judge(spec("ScoreJudge", model="anthropic:claude"))


def test_without_langchains_evaluators_ours_answer_to_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_PACKAGES", ())
    built = ADAPTER.build_judge(spec("labeled_score_string", model_options={"api_key": "k"}))
    assert isinstance(built, ScoreJudge)
    assert (built.name, built.requires_reference) == ("mine", True)
