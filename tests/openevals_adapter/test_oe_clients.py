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
from judgeharness_openevals import create_harnessed_pairwise_judge

HARNESS = JudgeHarness(perturbations=["none"], repetitions=3, aggregation_rule="majority", observers=())
CASE = AnswerCase(case_id="c1", input="What is the capital of France?", output="It is Paris, of course.")
PAIR = {"inputs": "What is the capital?", "outputs": ["It is Paris.", "It is Rome."]}


def client_of(server: OpenAIServer) -> Any:
    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="test", http_client=httpx.AsyncClient())


def connections(client: Any) -> int:
    http = getattr(client, "root_async_client", client)._client
    return len(http._transport._pool.connections)


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
