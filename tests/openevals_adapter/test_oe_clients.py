"""The sync face of openevals judges leaves the caller's async clients to the caller's event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest
from openevals.llm import create_async_llm_as_judge
from support.openai_server import OpenAIServer, chat_model
from support.openevals_judging import CASE, PROMPT, Serve, scored

from judgeharness_integrations import JudgeHarness
from judgeharness_openevals import create_harnessed_llm_as_judge, create_harnessed_pairwise_judge, harness_judge

HARNESS = JudgeHarness(perturbations=["none"], repetitions=3, aggregation_rule="majority", observers=())
PAIR = {"inputs": "What is the capital?", "outputs": ["It is Paris.", "It is Rome."]}


def serving(_: object = None) -> Any:
    return scored(True)


def client_of(server: OpenAIServer) -> Any:
    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="test", http_client=httpx.AsyncClient())


def connections(client: Any) -> int:
    http = getattr(client, "root_async_client", client)._client
    return len(http._transport._pool.connections)


@pytest.mark.parametrize("made", [client_of, chat_model])
def test_no_connection_of_ours_is_in_the_callers_pool(openai_server: Serve, made: Callable[..., Any]) -> None:
    server = openai_server(serving)
    client = made(server)
    judge = harness_judge(create_async_llm_as_judge(prompt=PROMPT, judge=client, model="gpt-4o"), HARNESS)
