"""A judge that cannot answer, met with the real client: few requests, every case accounted for, and what to mend."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest
from support.openai_server import OpenAIServer, Reply, Request, chat_model

from judgeharness_integrations import HarnessResult, JudgeHarness, PairwiseCase
from judgeharness_integrations.judging.execution import retrying
from judgeharness_langchain import PairwiseJudge

Serve = Callable[..., OpenAIServer]
CASES = [PairwiseCase(case_id=f"c{number}", input="q", output="one", output_b="two") for number in range(4)]
CALLS = 6 * len(CASES)
HANDFUL = 5


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "_FIRST_WAIT_S", 0.001)


def answered(request: Request) -> Reply:
    return Reply.json({"reasoning": "shown first", "verdict": "A"})


def measured(server: OpenAIServer, **options: Any) -> list[HarnessResult]:
    harness = JudgeHarness.standard("pairwise", observers=(), **options)
    return list(harness.evaluate_many(PairwiseJudge(chat_model(server)), CASES))


def asked(results: list[HarnessResult]) -> int:
    return sum(result.only.taken for result in results)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (401, "check its API key"),
        (403, "check what its API key may use"),
        (404, "check the name of its model and its base URL"),
    ],
)
@pytest.mark.parametrize("max_concurrency", [1, 16, 64])
def test_what_cannot_heal_is_asked_a_handful_of_times(
    openai_server: Serve, status: int, remedy: str, max_concurrency: int
) -> None:
    server = openai_server([Reply.status(status)])
    results = measured(server, max_concurrency=max_concurrency)
    assert server.calls <= HANDFUL
    assert [result.case_id for result in results if result.status != "not_graded"] == []
    assert sorted(result.case_id for result in results) == sorted(case.case_id for case in CASES)
    assert asked(results) == server.calls  # what was not asked has no row
    assert {result.state for result in results} == {"judge_down"}
    ended = {result.ended for result in results}
    assert len(ended) == 1
    sentence = str(ended.pop())
    assert sentence.startswith(f"judge 'PairwiseJudge' is down: no call was answered, and {server.calls} failed with ")
    assert f"Error code: {status}" in sentence
    assert sentence.endswith(remedy)
    assert sentence in results[-1].reason
    assert results[-1].reason.startswith("judge down: 6 of 6 planned samples were not asked; ")


def test_no_such_host(openai_server: Serve) -> None:
    del openai_server
    harness = JudgeHarness.standard("pairwise", observers=(), max_attempts=2)
    with OpenAIServer([Reply.text("never")]) as nobody:
        judge = PairwiseJudge(chat_model(nobody, base_url="http://no-such-host.invalid/v1"))
        results = list(harness.evaluate_many(judge, CASES))
    assert 0 < asked(results) <= HANDFUL
    assert {result.state for result in results} == {"judge_down"}
    assert str(results[0].ended).endswith("there is no such host: check its base URL and the network")


@pytest.mark.slow
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_refused_connection_counts_when_it_is_met_repeatedly(host: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    harness = JudgeHarness.standard("pairwise", observers=(), max_attempts=3)
    with OpenAIServer([Reply.text("never")]) as nobody:
        judge = PairwiseJudge(chat_model(nobody, base_url=f"http://{host}:{port}/v1"))
        results = list(harness.evaluate_many(judge, CASES))
    rows = [row for result in results for row in result.rows]
    assert 1 < len(rows) <= HANDFUL
    assert {row.attempts for row in rows} == {3}  # a server that starts refuses connections, too
    assert len(results) == len(CASES)
    assert str(results[0].ended).endswith("nothing listens there: check that its server runs, and its base URL")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "reply", [Reply.status(429, retry_after=0.0), Reply.status(500), Reply.status(400)], ids=["429", "500", "400"]
)
def test_every_other_failure_is_asked_to_the_end(openai_server: Serve, reply: Reply) -> None:
    server = openai_server([reply])
    results = measured(server, max_attempts=1)
    assert server.calls == CALLS == asked(results)
    assert {result.state for result in results} == {"complete"}
    assert {result.ended for result in results} == {None}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "first",
    [Reply.json({"reasoning": "so", "verdict": "A"}), Reply.text("I would rather not say."), Reply.refusal()],
    ids=["ok", "unparsed", "refused"],
)
def test_a_judge_that_answered_once_is_asked_to_the_end(openai_server: Serve, first: Reply) -> None:
    server = openai_server(lambda request: first if request.number < 2 else Reply.status(401))
    results = measured(server)
    assert server.calls >= CALLS
    assert {result.state for result in results} == {"complete"}


def test_failures_that_heal_between_do_not_hide_a_wrong_key(openai_server: Serve) -> None:
    server = openai_server([Reply.status(500), Reply.status(401)])
    results = measured(server, max_concurrency=1, max_attempts=1)
    assert server.calls == 6
    assert {result.state for result in results[1:]} == {"judge_down"}
    assert "401" in str(results[-1].ended)


@pytest.mark.slow
def test_a_wrong_key_mended_in_time_ends_nothing(openai_server: Serve) -> None:
    server = openai_server(lambda request: Reply.status(401) if request.number < 2 else answered(request))
    results = measured(server)
    assert asked(results) == CALLS
    assert sum(result.only.outcomes["error"] for result in results) == 2
    assert {result.state for result in results} == {"complete"}
