"""What the sync face asks through has the settings of the caller's client at the time, and ends with it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from support.openai_server import OpenAIServer, Reply, chat_model
from support.provider_clients import MODELS

from judgeharness_integrations import AnswerCase, HarnessResult, JudgeHarness
from judgeharness_integrations.judging.execution.loop import run_sync
from judgeharness_integrations.judging.execution.ownclients import own_client, own_model
from judgeharness_langchain import ScoreJudge

CASE = AnswerCase(case_id="c1", output="It is Paris.", input="What is the capital of France?")
HARNESS = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="median", observers=(), max_attempts=1)
Serve = Callable[..., OpenAIServer]


def answering(_: object = None) -> Reply:
    return Reply.text("Good. [[7]]")


def evaluated(model: Any) -> HarnessResult:
    return HARNESS.evaluate(ScoreJudge(model, output="text"), CASE)


async def asked(model: Any) -> Any:
    """What the background loop asks instead of a model."""
    return own_model(model)


async def asked_client(client: Any) -> Any:
    """What the background loop asks instead of a client."""
    return own_client(client)


def sdk(model: Any) -> Any:
    """The provider's async client of a model."""
    return getattr(model, "root_async_client", None) or model._async_client


def pool(model: Any) -> Any:
    return sdk(model)._client._transport._pool


def their_client(server: OpenAIServer, **settings: Any) -> tuple[Any, httpx.AsyncClient]:
    """A model over an httpx client of the caller's own, and that client."""
    theirs = httpx.AsyncClient(**settings)
    return chat_model(server, http_async_client=theirs), theirs


@pytest.mark.sampled(3)
@pytest.mark.parametrize("provider", ["openai", "responses", "anthropic"])
def test_a_key_that_is_rotated_holds_for_the_next_call(openai_server: Serve, provider: str) -> None:
    server = openai_server(answering)
    model: Any = MODELS[provider](server)
    evaluated(model)
    before = pool(run_sync(asked(model)))
    sdk(model).api_key = "rotated"
    evaluated(model)
    evaluated(model.bind(stop=["x"]))
    keys = [r.headers.get("x-api-key") or r.headers["authorization"].removeprefix("Bearer ") for r in server.requests]
    assert keys == ["test", "rotated", "rotated"]
    assert pool(run_sync(asked(model))) is before  # whose connections are used again
    assert run_sync(asked(model)) is run_sync(asked(model))


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_server_that_is_left_is_not_asked_again(openai_server: Serve, provider: str) -> None:
    old, new = openai_server(answering), openai_server(answering)
    model: Any = MODELS[provider](old)
    evaluated(model)
    sdk(model).base_url = new.url if provider == "anthropic" else f"{new.url}/v1"
    evaluated(model)
    assert (old.calls, new.calls) == (1, 1)


def test_the_callers_http_client_may_be_changed(openai_server: Serve) -> None:
    server, seen = openai_server(answering), []

    async def hook(request: httpx.Request) -> None:
        seen.append(request.headers["x-tenant"])

    model, theirs = their_client(server, headers={"x-tenant": "blue"}, cookies={"k": "1"})
    evaluated(model)
    theirs.headers = httpx.Headers({"x-tenant": "green"})
    theirs.event_hooks = {"request": [hook]}
    theirs.cookies.set("k", "2")
    theirs.auth = ("user", "word")
    theirs.max_redirects = 3
    evaluated(model)
    assert [r.headers["x-tenant"] for r in server.requests] == ["blue", "green"]
    assert [r.headers["cookie"] for r in server.requests] == ["k=1", "k=2"]
    assert seen == ["green"]
    own = sdk(run_sync(asked(model)))._client
    assert (own.auth, own.max_redirects, dict(own.event_hooks)) == (theirs.auth, 3, theirs.event_hooks)
    assert len(own.event_hooks) == 2
    assert len(pool(model).connections) == 0


@pytest.mark.slow
def test_a_transport_that_is_replaced_is_left_and_closed(openai_server: Serve) -> None:
    model, theirs = their_client(openai_server(answering))
    before = sdk(run_sync(asked(model)))._client
    theirs._transport = httpx.AsyncHTTPTransport(retries=2)
    evaluated(model)
    assert pool(run_sync(asked(model)))._retries == 2
    run_sync(ended(before))


def test_what_is_replaced_in_a_model_that_was_asked_is_asked(openai_server: Serve) -> None:
    calls = []
    model, _ = their_client(openai_server(answering))
    evaluated(model)
    create = model.async_client.create

    async def watched(**arguments: Any) -> Any:
        calls.append(arguments)
        return await create(**arguments)

    model.async_client.create = watched  # as tracing libraries do
    evaluated(model)
    assert len(calls) == 1


async def ended(own: Any) -> None:
    """Wait until a copy is closed."""

    async def closed() -> None:
        while not own.is_closed:
            gc.collect()  # a client and its parts refer to each other
            await asyncio.sleep(0.01)

    await asyncio.wait_for(closed(), 20)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_model_the_caller_closed_is_not_asked(provider: str) -> None:
    with OpenAIServer(answering) as server:
        model: Any = MODELS[provider](server, timeout=51)  # LangChain shares a client by address and timeout
        evaluated(model)
        own = sdk(run_sync(asked(model)))._client
        asyncio.run(sdk(model).close())
        with pytest.raises(Exception, match="Connection error"):
            asyncio.run(model.ainvoke("Which is better?"))
        (row,) = evaluated(model).rows
        assert row.outcome == "error"
        assert "Connection error" in str(row.error)
        assert server.calls == 1
        run_sync(ended(own))


@pytest.mark.slow
def test_a_hook_that_knows_its_client_keeps_nothing_open(openai_server: Serve) -> None:
    class Meter:
        """Counts the requests of a client."""

        def __init__(self, client: httpx.AsyncClient) -> None:
            self.client, self.count = client, 0
            client.event_hooks = {"request": [self.add]}

        async def add(self, _: httpx.Request) -> None:
            self.count += 1

    model, theirs = their_client(openai_server(answering))
    meter = Meter(theirs)
    evaluated(model)
    assert meter.count == 1
    own = sdk(run_sync(asked(model)))._client
    del model, theirs, meter
    run_sync(ended(own))
    assert dict(own.event_hooks) == {}
    assert own.event_hooks["request"] == []


def test_parts_of_a_client_are_asked_as_the_client_is(openai_server: Serve) -> None:
    model: Any = chat_model(openai_server(answering), http_async_client=httpx.AsyncClient())
    part = model.root_async_client.chat.completions
    own = run_sync(asked_client(part))
    assert own is run_sync(asked_client(part))
    model.root_async_client.api_key = "rotated"
    assert run_sync(asked_client(part))._client.api_key == "rotated"
    run_sync(run_closed(model.root_async_client))
    assert run_sync(asked_client(part)) is part


async def run_closed(client: Any) -> None:
    await client.close()
