"""A cache never answers two repetitions with one reply."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_classic.evaluation import load_evaluator as classic_load
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from support.openai_server import OpenAIServer, Reply, chat_model

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.judging.chatmodels import NamespacedCache
from judgeharness_langchain import PairwiseJudge, ScoreJudge, harness_evaluator
from judgeharness_langchain.models import isolated

Serve = Callable[..., OpenAIServer]
PAIR = {"prediction": "short", "prediction_b": "a much longer answer", "input": "Which one?"}


@pytest.fixture
def global_cache() -> Iterator[InMemoryCache]:
    cache = InMemoryCache()
    set_llm_cache(cache)
    yield cache
    set_llm_cache(None)


def harness(**options: Any) -> JudgeHarness:
    return JudgeHarness(
        perturbations=["none"], repetitions=3, aggregation_rule="majority", max_concurrency=1, **options
    )


def distribution(answer: dict[str, Any]) -> dict[Any, int]:
    return {entry["verdict"]: entry["count"] for entry in answer["harness"]["sample_distribution"]}


@pytest.mark.parametrize("ours", [True, False])
def test_three_repetitions_are_three_model_calls(openai_server: Serve, global_cache: InMemoryCache, ours: bool) -> None:  # noqa: FBT001
    said = "{{code}}: {}" if ours else "[[{}]]"
    server = openai_server([Reply.text(said.format(letter)) for letter in "ABA"])
    model = chat_model(server)
    judge = PairwiseJudge(model, output="text") if ours else classic_load("pairwise_string", llm=model)
    harnessed = harness_evaluator(judge, harness())
    answer = harnessed.evaluate_string_pairs(**PAIR)
    assert server.calls == 3
    assert distribution(answer) == {"A": 2, "B": 1}
    assert answer["harness"]["warnings"] == []
    again = harnessed.evaluate_string_pairs(**PAIR)
    assert server.calls == 3  # the re-run is answered by three entries of our own
    assert distribution(again) == {"A": 2, "B": 1}
    assert next(iter(again["harness"]["criteria"].values()))["samples"] != "collapsed"


def test_the_bare_evaluator_collapses(openai_server: Serve, global_cache: InMemoryCache) -> None:
    server = openai_server([Reply.text(f"[[{letter}]]") for letter in "ABA"])
    evaluator = classic_load("pairwise_string", llm=chat_model(server))
    assert [evaluator.evaluate_string_pairs(**PAIR)["value"] for _ in range(3)] == ["A", "A", "A"]
    assert server.calls == 1


def test_a_model_that_cannot_be_reached_is_warned_about(openai_server: Serve, global_cache: InMemoryCache) -> None:
    server = openai_server([Reply.text("Reasons. " * 40 + "[[7]]")])
    inner = classic_load("score_string", llm=chat_model(server))

    class Hidden:
        requires_input = True
        requires_reference = False

        async def aevaluate_strings(self, **arguments: Any) -> dict[str, Any]:
            return dict(await inner.aevaluate_strings(**arguments))

        evaluate_strings = None

    design = JudgeHarness(perturbations=["none"], repetitions=3, aggregation_rule="median", max_concurrency=1)
    answer = harness_evaluator(Hidden(), design, shape="scores").evaluate_strings(prediction="x", input="q")
    assert server.calls == 1
    measured = next(iter(answer["harness"]["criteria"].values()))
    assert "cannot be reached" in answer["harness"]["warnings"][0]
    assert measured["samples"] == "collapsed"
    assert measured["collapse_evidence"] == ["cache hit"]
    assert measured["effective_samples"] == 1


def test_a_models_own_cache_and_its_bindings_are_respected(openai_server: Serve) -> None:
    server = openai_server([Reply.text("{code}: 3"), Reply.text("{code}: 5")])
    cached = chat_model(server, cache=InMemoryCache()).bind(stop=["never"])
    judge = ScoreJudge(cached, output="text")
    design = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="mean", max_concurrency=1)
    answer = harness_evaluator(judge, design).evaluate_strings(prediction="x")
    assert (answer["score"], server.calls) == (4, 2)
    assert server.requests[0].body["stop"] == ["never"]

    uncached = chat_model(server, cache=False)
    assert isolated(uncached, "a") is uncached


def test_a_namespaced_cache_stands_in_the_users_cache() -> None:
    inner = InMemoryCache()
    first, second = NamespacedCache(inner, "none#0"), NamespacedCache(inner, "none#1")
    first.update("prompt", "llm", [])
    assert first.lookup("prompt", "llm") == []
    assert second.lookup("prompt", "llm") is None
    assert inner.lookup("prompt", "llm") is None
    first.clear()
    assert first.lookup("prompt", "llm") is None
    asyncio.run(first.aupdate("prompt", "llm", []))
    assert asyncio.run(first.alookup("prompt", "llm")) == []
    assert asyncio.run(second.alookup("prompt", "llm")) is None
    asyncio.run(first.aclear())
    assert first.lookup("prompt", "llm") is None
