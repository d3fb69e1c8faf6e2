"""The sync face leaves the caller's async clients to the caller's event loops."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_classic.evaluation import load_evaluator
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableLambda
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from support.openai_server import OpenAIServer, Reply, chat_model
from support.provider_clients import MODELS, gemini_model

from judgeharness_integrations import AnswerCase, HarnessResult, JudgeHarness
from judgeharness_integrations.judging.execution import ownclients
from judgeharness_integrations.judging.execution.loop import background, run_sync
from judgeharness_integrations.judging.execution.ownclients import own_client, own_model
from judgeharness_langchain import ScoreJudge, chat_rewriter, harness_evaluator

TRIES = 12
CASE = AnswerCase(case_id="c1", output="It is Paris.", input="What is the capital of France?")
HARNESS = JudgeHarness(perturbations=["none"], repetitions=3, aggregation_rule="median", observers=())
Serve = Callable[..., OpenAIServer]


def answering(_: object = None) -> Reply:
    return Reply.text("Good. [[7]]")


def evaluated(model: Any) -> HarnessResult:
    return HARNESS.evaluate(ScoreJudge(model, output="text"), CASE)


def fails(model: Any) -> bool:
    """Whether the caller's own run of the model fails."""
    try:
        asyncio.run(model.ainvoke("Which is better?"))
    except Exception:  # noqa: BLE001 - each provider's client has errors of its own
        return True
    return False


async def same(model: Any) -> bool:
    return own_model(model) is model


async def asked(model: Any, times: int = 1) -> Any:
    """What the background loop asks instead of a model, after it has."""
    own = own_model(model)
    await asyncio.gather(*(own.ainvoke("Which is better?") for _ in range(times)))
    return own


def http(model: Any) -> Any:
    """The pool of async connections of a model."""
    client = getattr(model, "root_async_client", None) or model._async_client
    return client._client


def connections(model: Any) -> int:
    return len(http(model)._transport._pool.connections)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("provider", MODELS)
def test_the_callers_next_run_works_after_a_sync_evaluation(provider: str) -> None:
    with OpenAIServer(answering) as server:
        for seconds in (20, 21, 22):  # LangChain shares a client by address and timeout
            model = MODELS[provider](server, timeout=seconds)
            evaluated(model)
            assert not fails(model)


@pytest.mark.slow
def test_runs_and_evaluations_in_turn_fail_as_often_as_runs_alone(openai_server: Serve) -> None:
    bare, harnessed, other = [], [], []
    for failed in (bare, harnessed, other):
        server = openai_server(answering)
        model = chat_model(server)
        for _ in range(TRIES):
            if failed is not bare:
                result = evaluated(model)
                assert [(row.outcome, row.attempts) for row in result.rows] == [("unparsed", 1)] * 3
            failed.append(fails(chat_model(server) if failed is other else model))
    assert harnessed == bare
    assert other == bare  # another model of one address shares its client


@pytest.mark.sampled(3)
@pytest.mark.parametrize("provider", ["openai", "responses", "anthropic"])
def test_an_evaluation_works_after_the_callers_runs(provider: str) -> None:
    with OpenAIServer(answering) as server:
        for seconds in (30, 31, 32):
            model = MODELS[provider](server, timeout=seconds)
            assert not fails(model)  # which leaves a connection of a loop that is closed
            assert [row.attempts for row in evaluated(model).rows] == [1, 1, 1]
        assert server.calls == 12


JUDGES: dict[str, Callable[[Any], Any]] = {
    "text": lambda model: HARNESS.evaluate(ScoreJudge(model, output="text"), CASE),
    "structured": lambda model: HARNESS.evaluate(ScoreJudge(model), CASE),
    "bound": lambda model: HARNESS.evaluate(ScoreJudge(model.bind(stop=["x"])), CASE),
    "evaluator": lambda model: harness_evaluator(load_evaluator("score_string", llm=model), HARNESS).evaluate_strings(
        prediction="It is Paris.", input="What is the capital?"
    ),
    "rewriter": lambda model: run_sync(chat_rewriter(model)("It is Paris.")),
    "retry": lambda model: run_sync(asked(model.with_retry())),
    "fallbacks": lambda model: run_sync(asked(model.with_fallbacks([model.bind(stop=["x"])]))),
    "sequence": lambda model: run_sync(asked(RunnableLambda(str) | model | RunnableLambda(str))),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_no_connection_of_ours_is_in_the_callers_pool(openai_server: Serve, judge: str, provider: str) -> None:
    server = openai_server(answering)
    model = MODELS[provider](server)
    JUDGES[judge](model)
    assert server.calls > 0
    assert connections(model) == 0


@pytest.mark.slow
def test_the_async_face_asks_the_callers_own_client(openai_server: Serve) -> None:
    model = chat_model(openai_server(answering))

    async def app() -> None:
        assert own_model(model) is model
        assert own_client(model.root_async_client) is model.root_async_client
        await HARNESS.aevaluate(ScoreJudge(model, output="text"), CASE)
        assert connections(model) > 0
        await model.root_async_client.close()

    http_client = httpx.AsyncClient()
    model = chat_model(openai_server(answering), http_async_client=http_client)
    asyncio.run(app())


@pytest.mark.slow
def test_connections_are_reused_and_no_judge_is_another(openai_server: Serve) -> None:
    model = chat_model(openai_server(answering))
    own = run_sync(asked(model))
    judge = ScoreJudge(model)
    assert run_sync(asked(model)) is own
    assert run_sync(asked(own)) is own
    assert connections(own) == 1
    assert run_sync(asked(chat_model(openai_server(answering)))) is not own
    assert own._get_llm_string() == model._get_llm_string()  # its entries of a cache
    assert judge.identity == ScoreJudge(own).identity


def test_what_the_caller_set_holds_and_what_the_caller_changes_later(openai_server: Serve) -> None:
    usage = UsageMetadataCallbackHandler()
    server = openai_server(answering)
    model = chat_model(
        server, default_headers={"x-team": "judges"}, timeout=7, max_retries=3, callbacks=[usage], temperature=0.25
    )
    own = run_sync(asked(model))
    theirs, ours = model.root_async_client, own.root_async_client
    assert (ours.timeout, ours.max_retries, ours.api_key, ours.base_url) == (7, 3, "test", theirs.base_url)
    pools = [http(m)._transport._pool for m in (model, own)]
    for name in ("_ssl_context", "_max_connections", "_max_keepalive_connections", "_socket_options", "_proxy"):
        assert getattr(pools[0], name) is getattr(pools[1], name)
    model.temperature = 0.75
    run_sync(asked(model))
    assert [(r.headers["x-team"], r.temperature) for r in server.requests] == [("judges", 0.25), ("judges", 0.75)]
    assert sum(tokens["total_tokens"] for tokens in usage.usage_metadata.values()) > 0


@pytest.mark.slow
def test_a_proxy_of_the_callers_is_asked(openai_server: Serve) -> None:
    server = openai_server(answering)
    options = {"base_url": "http://judge.test/v1", "openai_proxy": server.url}
    own = run_sync(same(chat_model(server, **options)))
    assert own is False
    run_sync(asked(chat_model(server, **options)))
    assert server.requests[0].headers["host"] == "judge.test"


def test_a_client_of_the_callers_own_is_copied_with_its_hooks(openai_server: Serve) -> None:
    seen: list[str] = []

    async def hook(request: httpx.Request) -> None:
        seen.append(request.headers["x-tenant"])

    server = openai_server(answering)
    theirs = httpx.AsyncClient(headers={"x-tenant": "blue"}, event_hooks={"request": [hook]}, cookies={"k": "v"})
    model = chat_model(server, http_async_client=theirs)
    evaluated(model)
    assert seen == ["blue"] * 3
    assert server.requests[0].headers["cookie"] == "k=v"
    assert connections(model) == 0


class Watched(httpx.AsyncHTTPTransport):
    """A transport of the caller's making, which only the caller can copy."""


@pytest.mark.slow
def test_what_cannot_be_copied_is_asked_in_threads_or_shared(openai_server: Serve) -> None:
    server = openai_server(answering)
    both = {"http_client": httpx.Client(), "http_async_client": httpx.AsyncClient(transport=Watched())}
    model = chat_model(server, **both, n=2)
    assert [row.attempts for row in evaluated(model).rows] == [1, 1, 1]
    assert connections(model) == 0
    streaming = chat_model(server, **both, streaming=True)
    assert run_sync(asked(streaming)) is not streaming
    assert connections(streaming) == 0
    alone = chat_model(server, http_async_client=both["http_async_client"])
    assert run_sync(same(alone))  # without a sync client that goes the same way


def test_what_was_replaced_in_a_model_stays_replaced(openai_server: Serve) -> None:
    calls = []
    model = chat_model(openai_server(answering), http_async_client=httpx.AsyncClient())
    create = model.async_client.create

    async def watched(**arguments: Any) -> Any:
        calls.append(arguments)
        return await create(**arguments)

    model.async_client.create = watched  # as tracing libraries do
    evaluated(model)
    assert len(calls) == 3


class House(ChatOpenAI):
    """A class of the caller's over OpenAI's."""

    house: str = "ours"

    async def _agenerate(self, *args: Any, **options: Any) -> Any:
        result = await super()._agenerate(*args, **options)
        result.generations[0].message.content += f" ({self.house})"
        return result


@pytest.mark.slow
def test_a_class_of_the_callers_keeps_what_it_does(openai_server: Serve) -> None:
    server = openai_server(answering)
    model = House(base_url=f"{server.url}/v1", api_key="test", max_retries=0, house="yours", http_socket_options=())
    own = run_sync(asked(model))
    assert type(own) is House
    assert [row.raw for row in evaluated(model).rows] == ["Good. [[7]] (yours)"] * 3
    assert connections(model) == 0


def test_azure_is_asked_at_the_same_deployment_with_a_token_of_its_provider() -> None:
    seen: list[tuple[str, str]] = []

    async def token() -> str:
        return "a-token"

    async def hook(request: httpx.Request) -> None:
        seen.append((str(request.url), request.headers["authorization"]))
        raise httpx.ConnectError("seen")

    model = AzureChatOpenAI(
        azure_endpoint="https://judge.test",
        azure_deployment="judge-1",
        api_version="2024-10-21",
        azure_ad_token_provider=lambda: "a-token",
        azure_ad_async_token_provider=token,
        max_retries=0,
        http_async_client=httpx.AsyncClient(event_hooks={"request": [hook]}),
    )
    assert fails(model)
    with pytest.raises(Exception, match="Connection error"):
        run_sync(asked(model))
    assert seen[0] == seen[1]
    assert seen[0][0].startswith("https://judge.test/openai/deployments/judge-1/chat/completions?")
    assert not run_sync(same(model))


@pytest.mark.slow
def test_a_model_of_google_may_still_be_closed_by_the_caller(openai_server: Serve) -> None:
    model: Any = gemini_model(openai_server(answering))
    evaluated(model)

    async def app() -> None:
        await model.ainvoke("Which is better?")
        await model.aclose()  # which refuses where another loop was the first

    asyncio.run(app())


@pytest.mark.slow
def test_connections_are_closed_with_the_client_they_stand_for(openai_server: Serve) -> None:
    async def later() -> None:
        while not closed.is_closed:
            gc.collect()  # a client of OpenAI and its parts refer to each other
            await asyncio.sleep(0.01)

    model = chat_model(openai_server(answering), http_async_client=httpx.AsyncClient())
    closed = http(run_sync(asked(model)))
    assert not closed.is_closed
    del model
    run_sync(asyncio.wait_for(later(), 30))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("provider", MODELS)
def test_connections_are_closed_with_the_loop(
    openai_server: Serve, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[Any] = []
    monkeypatch.setattr(ownclients, "at_end", ends.append)
    server = openai_server(answering)
    model = MODELS[provider](server)

    async def loop() -> BaseChatModel:
        own = ownclients._Copies(asyncio.get_running_loop()).model(model)
        await own.ainvoke("Which is better?")
        await ends[0]()
        return own

    own: Any = asyncio.run(loop())
    assert own._client_cleanup._closed if provider == "gemini" else http(own).is_closed


PROGRAM = """
import asyncio, sys
from support.openai_server import OpenAIServer, Reply
from support.provider_clients import MODELS
from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_langchain import ScoreJudge

harness = JudgeHarness(perturbations=["none"], repetitions=3, aggregation_rule="median", observers=())
with OpenAIServer(lambda _: Reply.text("7")) as server:
    for made in MODELS.values():
        model = made(server)
        print(harness.evaluate(ScoreJudge(model, output="text"), AnswerCase(case_id="c", output="x")).status)
"""


@pytest.mark.slow
def test_nothing_is_left_open_when_a_program_ends() -> None:
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", PROGRAM]
    found = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, timeout=100, check=False, env={**os.environ, "PYTHONPATH": found}
    )
    assert (done.returncode, len(done.stdout.split())) == (0, 4)
    assert "unclosed" not in done.stderr.lower(), done.stderr


def test_in_other_loops_there_is_nothing_to_copy() -> None:
    assert background() is None
    assert own_model(None) is None
    assert run_sync(same("no model"))
    assert run_sync(same(RunnableLambda(str)))


def test_at_the_end_of_the_loop_no_copy_waits_for_its_model_any_more() -> None:
    """What is freed while the interpreter ends finds the names of its modules gone."""

    class Model:
        """Anything a copy is kept of."""

    loop, model = asyncio.new_event_loop(), Model()
    copies = ownclients._Copies(loop)
    freed = weakref.ref(model)
    kept = copies._keep(model, None).source
    loop.run_until_complete(copies._close_all())
    loop.close()
    assert copies._found(model) is None
    with pytest.MonkeyPatch.context() as patch:
        for name in ("in_background", "partial"):
            patch.setattr(ownclients, name, None)
        del model
    assert (freed(), kept()) == (None, None)
