"""The sync face of openevals judges leaves the caller's async clients to the caller's event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest
from openevals.llm import create_async_llm_as_judge
from support.openai_server import OpenAIServer, Reply, chat_model
from support.openevals_judging import PROMPT, Serve, scored

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations.judging.execution.loop import run_sync
from judgeharness_openevals import OpenevalsJudge, create_harnessed_pairwise_judge

HARNESS = JudgeHarness(perturbations=["none"], repetitions=3, aggregation_rule="majority", observers=())
CASE = AnswerCase(case_id="c1", input="What is the capital of France?", output="It is Paris, of course.")
PAIR = {"inputs": "What is the capital?", "outputs": ["It is Paris.", "It is Rome."]}


def client_of(server: OpenAIServer) -> Any:
    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="test", http_client=httpx.AsyncClient())


def connections(client: Any) -> int:
    http = getattr(client, "root_async_client", client)._client
    return len(http._transport._pool.connections)


@pytest.mark.slow
@pytest.mark.parametrize("made", [client_of, chat_model])
def test_no_connection_of_ours_is_in_the_callers_pool(openai_server: Serve, made: Callable[..., Any]) -> None:
    server = openai_server(lambda _: scored(score=True))
    client = made(server)
    judge = create_async_llm_as_judge(prompt=PROMPT, judge=client, model="gpt-4o" if made is client_of else None)
    assert [row.attempts for row in HARNESS.evaluate(judge, CASE).rows] == [1, 1, 1]
    assert connections(client) == 0

    async def app() -> None:
        assert (await HARNESS.aevaluate(judge, CASE)).verdict == "PASS"
        assert connections(client) > 0  # which are the caller's loop's
        await getattr(client, "root_async_client", client).close()

    asyncio.run(app())
    assert server.calls == 6


def test_a_pairwise_judge_leaves_its_chat_model_to_the_caller(openai_server: Serve) -> None:
    model = chat_model(openai_server(lambda _: Reply.json({"preferred": "A"})))
    judge = create_harnessed_pairwise_judge(judge=model, harness=HARNESS, on_not_graded="report")
    judge(inputs="What is the capital?", outputs=["It is Paris.", "It is Rome."])
    assert connections(model) == 0
    model.temperature = 0.5  # is what the judge asks with from now on
    judge(inputs="What is the capital?", outputs=["It is Paris.", "It is Rome."])
    assert connections(model) == 0


class House(openai.AsyncOpenAI):
    """A class of the caller's with a constructor of its own."""

    def __init__(self, url: str) -> None:
        self.house = "ours"
        super().__init__(api_key="test", base_url=url, max_retries=0)


class Deaf(openai.AsyncOpenAI):
    """A class of the caller's whose constructor drops what it is given."""

    def __init__(self, url: str = "http://unused.test", **_: Any) -> None:
        super().__init__(api_key="test", base_url=url, max_retries=0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [House, Deaf])
def test_a_client_only_its_class_can_make_is_asked_as_it_is(openai_server: Serve, kind: Any) -> None:
    server = openai_server(lambda _: scored(score=True))
    client = kind(f"{server.url}/v1")
    judge = create_async_llm_as_judge(prompt=PROMPT, judge=client, model="gpt-4o")
    assert [row.outcome for row in HARNESS.evaluate(judge, CASE).rows] == ["ok"] * 3
    assert server.calls == 3
    run_sync(client.close())


@pytest.mark.parametrize("face", ["sync", "async"])
def test_what_is_changed_in_a_client_holds_for_the_next_call(openai_server: Serve, face: str) -> None:
    old, new = openai_server(lambda _: scored(score=True)), openai_server(lambda _: scored(score=True))
    client = client_of(old)
    judge = OpenevalsJudge.of(create_async_llm_as_judge(prompt=PROMPT, judge=client, model="gpt-4o"))
    once = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority", observers=())

    async def asked() -> None:
        for url, key in ((old.url, "test"), (old.url, "rotated"), (new.url, "rotated")):
            client.base_url, client.api_key = f"{url}/v1", key
            await once.aevaluate(judge, CASE)
        await client.close()

    run_sync(asked()) if face == "sync" else asyncio.run(asked())
    assert [r.headers["authorization"] for r in old.requests] == ["Bearer test", "Bearer rotated"]
    assert [r.headers["authorization"] for r in new.requests] == ["Bearer rotated"]
