"""What a harnessed chain's faces keep from LangSmith where the harness is private or tracing is local."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_classic.evaluation import load_evaluator
from langchain_core.runnables import RunnableLambda
from langsmith import tracing_context
from support.langsmith_fixtures import LangSmithServerFactory
from support.openai_server import OpenAIServer, always_first, chat_model

from judgeharness_integrations import JudgeHarness
from judgeharness_langchain import harness_evaluator
from judgeharness_langsmith import LangSmithTracing

GIVEN = {"input": "q", "prediction": "KEPT first", "prediction_b": "KEPT second"}
FACES: dict[str, Callable[[Any], Any]] = {
    "evaluate": lambda one: one.evaluate_string_pairs(**GIVEN),
    "invoke": lambda one: one.invoke(GIVEN),
    "ainvoke": lambda one: asyncio.run(one.ainvoke(GIVEN)),
    "batch": lambda one: one.batch([GIVEN]),
    "apply": lambda one: one.apply([GIVEN]),
    "as_runnable": lambda one: one.as_runnable().invoke(GIVEN),
    "stream": lambda one: list(one.as_runnable().stream(GIVEN)),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("enabled", "observers"), [(True, [LangSmithTracing(private=True)]), ("local", None), ("local", [])]
)
@pytest.mark.parametrize("face", FACES)
def test_no_face_uploads_what_is_judged(
    langsmith_server: LangSmithServerFactory,
    openai_server: Callable[..., OpenAIServer],
    face: str,
    enabled: Any,
    observers: Any,
) -> None:
    server = langsmith_server()
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority", observers=observers)
    chain = load_evaluator("pairwise_string", llm=chat_model(openai_server(always_first)))  # type: ignore[arg-type]
    with tracing_context(enabled=enabled, client=server.client()):
        FACES[face](harness_evaluator(chain, harness))
    assert server.runs == {}
    assert "KEPT" not in server.text


@pytest.mark.slow
def test_a_chain_around_a_private_one_posts_its_own_run_alone(
    langsmith_server: LangSmithServerFactory, openai_server: Callable[..., OpenAIServer]
) -> None:
    server = langsmith_server()
    observers = [LangSmithTracing(private=True)]
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority", observers=observers)
    chain = load_evaluator("pairwise_string", llm=chat_model(openai_server(always_first)))  # type: ignore[arg-type]
    pipe = RunnableLambda(dict).with_config(run_name="prepare") | harness_evaluator(chain, harness).as_runnable()
    with tracing_context(enabled=True, client=server.client()):
        pipe.invoke(GIVEN)
    assert {run["name"] for run in server.runs.values()} == {"RunnableSequence", "prepare"}
    assert "KEPT" in server.text
    with tracing_context(enabled=False, client=server.client()):
        pipe.invoke(GIVEN)
    assert len(server.runs) == 2


class _Private:
    """A private observer of somebody else's."""

    private = True

    def begin(self, span: object) -> None:
        del span

    def end(self, span: object) -> None:
        del span


def test_beside_a_private_observer_of_another_kind_the_judge_uploads_nothing(
    langsmith_server: LangSmithServerFactory, openai_server: Callable[..., OpenAIServer]
) -> None:
    server = langsmith_server()
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority", observers=[_Private()])
    chain = load_evaluator("pairwise_string", llm=chat_model(openai_server(always_first)))  # type: ignore[arg-type]
    with tracing_context(enabled=True, client=server.client()):
        harness_evaluator(chain, harness).evaluate_string_pairs(**GIVEN)
    assert server.runs == {}
