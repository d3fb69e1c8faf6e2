"""Judges of configuration files over any model `init_chat_model` makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.openai_server import OpenAIServer, Reply, longer_wins

from judgeharness_integrations import JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.adapters import JudgeSpec, find_adapter
from judgeharness_langchain import LabelJudge
from judgeharness_langchain.adapter import ADAPTER

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


def test_a_rewriter_of_a_configuration(openai_server: Serve) -> None:
    server = openai_server([Reply.text(" reworded ")])
    assert ADAPTER.build_rewriter is not None
    rewriter: Any = ADAPTER.build_rewriter("openai:gpt-4o", options(server))
    judge: Any = ADAPTER.build_judge(
        spec("ScoreJudge", model_options=options(openai_server([Reply.json({"score": 3})])))
    )
    harness = JudgeHarness(perturbations=["paraphrase"], repetitions=1, aggregation_rule="mean", rewriter=rewriter)
    assert harness.evaluate(judge, PAIR).verdict == 3


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
        ({"evaluator": "ScoreJudge", "model_options": {"temperature": "hot"}}, ConfigError, "cannot be made"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(changes: dict[str, Any], error: type[Exception], words: str) -> None:
    changed: dict[str, Any] = {"model_options": {"api_key": "secret-key"}} | changes
    with pytest.raises(error, match=words) as caught:
        ADAPTER.build_judge(spec(**changed))
    assert "\n" not in str(caught.value)
    assert "secret-key" not in str(caught.value)
