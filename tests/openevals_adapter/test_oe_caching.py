"""A cache may never answer two repetitions with one reply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.globals import set_llm_cache
from langchain_core.language_models.fake import FakeListLLM
from openai import OpenAI
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from support.openai_server import chat_model
from support.openevals_judging import CASE, PROMPT, Serve, scored, told

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.judging.answer import UNREACHABLE
from judgeharness_openevals import harness_judge

FACTORIES = pytest.mark.parametrize("factory", [create_llm_as_judge, create_async_llm_as_judge])


@pytest.fixture(autouse=True)
def no_global_cache() -> Iterator[None]:
    set_llm_cache(None)
    yield
    set_llm_cache(None)


@pytest.mark.sampled(4)
@FACTORIES
@pytest.mark.parametrize("globally", [True, False])
def test_every_sample_has_entries_of_its_own(openai_server: Serve, factory: Any, *, globally: bool) -> None:
    server = openai_server([scored(score=True), scored(score=False)])
    cache = InMemoryCache()
    if globally:
        set_llm_cache(cache)
    model = chat_model(server) if globally else chat_model(server, cache=cache)
    judge = harness_judge(factory(prompt=PROMPT, judge=model))
    first = told(judge, **CASE)["metadata"]
    assert server.calls == 6
    assert [part["count"] for part in first["sample_distribution"]] == [3, 3]
    assert first["harness"]["warnings"] == []
    again = told(judge, **CASE)["metadata"]
    assert server.calls == 6  # the cache still saves what was paid for
    assert again["sample_distribution"] == first["sample_distribution"]
    assert next(iter(again["harness"]["criteria"].values()))["effective_samples"] == 6


@pytest.mark.slow
def test_a_model_that_is_not_cached_is_left_alone(openai_server: Serve) -> None:
    set_llm_cache(InMemoryCache())
    server = openai_server([scored(score=True)])
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=chat_model(server, cache=False)))
    assert judge(**CASE)["metadata"]["harness"]["warnings"] == []
    assert server.calls == 6


@pytest.mark.parametrize("globally", [True, False])
def test_a_model_that_cannot_be_reached_is_told(openai_server: Serve, *, globally: bool) -> None:
    server = openai_server([scored(score=True)])
    cache = InMemoryCache()
    if globally:
        set_llm_cache(cache)
    bare = create_llm_as_judge(prompt=PROMPT, judge=chat_model(server) if globally else chat_model(server, cache=cache))

    def hidden(inputs: str, outputs: str) -> Any:
        return bare(inputs=inputs, outputs=outputs)

    harness = JudgeHarness(perturbations=["none"], repetitions=3, aggregation_rule="majority", max_concurrency=1)
    measured = harness_judge(hidden, harness)(**CASE)["metadata"]
    assert server.calls == 1
    assert measured["harness"]["warnings"] == [UNREACHABLE]
    assert next(iter(measured["harness"]["criteria"].values()))["samples"] == "collapsed"


def test_a_function_that_asks_no_model_of_langchain_has_no_such_warning(openai_server: Serve) -> None:
    set_llm_cache(InMemoryCache())
    assert harness_judge(lambda outputs: True)(outputs="a text")["metadata"]["harness"]["warnings"] == []
    server = openai_server([scored(score=True)])
    client = OpenAI(base_url=f"{server.url}/v1", api_key="test", max_retries=0)
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=client, model="gpt-4o-test"))
    assert judge(**CASE)["metadata"]["harness"]["warnings"] == []
    assert server.calls == 6


@pytest.mark.slow
def test_the_models_own_callbacks_see_which_sample_they_are_in(openai_server: Serve) -> None:
    seen: list[tuple[Any, Any, Any]] = []

    class Marks(BaseCallbackHandler):
        def on_chat_model_start(self, *_: Any, tags: Any = (), metadata: Any = None, **__: Any) -> None:
            seen.append((metadata["perturbation"], metadata["repetition"], set(tags) >= {"judge-harness"}))

    server = openai_server([scored(score=True)])
    model = chat_model(server, callbacks=[Marks()])
    harness_judge(create_llm_as_judge(prompt=PROMPT, judge=model))(**CASE)
    names = ["none", "format_change"]
    assert sorted(seen) == sorted((name, number, True) for name in names for number in range(3))


def test_models_that_complete_texts_are_seen_too() -> None:
    llm = FakeListLLM(responses=["yes"])
    answer = harness_judge(lambda outputs: llm.invoke(outputs) == "yes", JudgeHarness.quick("labels"))(outputs="a text")
    assert answer["score"] is True
