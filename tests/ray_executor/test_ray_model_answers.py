"""Judges of chat models on workers: every billed reply is booked, and the whole run is asked in one mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.openai_server import OpenAIServer, Reply, Request, chat_model
from support.provider_wire import Answer, Tokens
from support.ray_cluster import harness, local_ray

from judgeharness_integrations import HarnessResult, PairwiseCase, VerdictRow
from judgeharness_integrations.analysis.usage import Price
from judgeharness_integrations.judging.execution import Budget
from judgeharness_integrations.judging.execution.attempting import CallPolicy
from judgeharness_integrations.judging.execution.ray_engine import RayExecutor
from judgeharness_integrations.verdictlog import SqlLog
from judgeharness_langchain import PairwiseJudge

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cluster")]

Serve = Callable[..., OpenAIServer]
CALLED = Reply.of(Answer(arguments={"reasoning": "It is so.", "verdict": "Assistant A"}))
TOOLLESS = Reply.text("I would say A.")
PRICES = {"*": Price(input=2.5, output=10.0)}


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with local_ray():
        yield


class Sent(PairwiseJudge):
    """A judge of which every worker builds its own, as of one that a configuration holds."""

    def __init__(self, url: str) -> None:
        self.url = url
        super().__init__(chat_model(_At(url)), name="sent")  # type: ignore[arg-type] # all that is read of a server

    def __reduce__(self) -> tuple[Any, ...]:
        return (Sent, (self.url,))


class _At:
    def __init__(self, url: str) -> None:
        self.url = url


def pairs(count: int) -> list[PairwiseCase]:
    return [PairwiseCase(case_id=f"c{n}", input="q", output=f"yes {n}", output_b="no") for n in range(count)]


def evaluated(judge: Any, cases: list[PairwiseCase], **options: Any) -> list[HarnessResult]:
    executor = RayExecutor(start_timeout_s=110, workers=2, concurrency_per_worker=2, policy=CallPolicy(max_attempts=8))
    return list(harness(executor, **options).evaluate_many(judge, cases))


def rows_of(results: list[HarnessResult]) -> list[VerdictRow]:
    return [row for result in results for row in result.rows]


def unforced_once(request: Request) -> Reply:
    """The first answer does without the tool; whoever forces it later gets a call."""
    return CALLED if request.number and request.forced_tool else TOOLLESS


def test_replies_without_an_answer_are_booked_as_the_server_bills_them(openai_server: Serve) -> None:
    used = Tokens(input=2000, output=10)
    empty, said = (Reply.of(Answer(tokens=used, **facts)) for facts in ({"ended": "empty"}, {"text": "So. [[A]]"}))
    server, budget = openai_server([empty, said, said]), Budget(max_calls=100, prices=PRICES)
    rows = rows_of(evaluated(Sent(server.url), pairs(3), budget=budget))
    bill = server.bill()
    assert {row.outcome for row in rows} == {"unparsed"}
    assert bill.input > len(rows) * used.input
    assert (sum(row.input_tokens or 0 for row in rows), sum(row.output_tokens or 0 for row in rows)) == (
        bill.input,
        bill.output,
    )
    assert budget.cost == pytest.approx((bill.input * 2.5 + bill.output * 10.0) / 1e6)


def test_a_call_that_never_got_an_answer_is_billed_for_its_replies(openai_server: Serve) -> None:
    server = openai_server([Reply.of(Answer(ended="empty", tokens=Tokens(input=2000, output=10)))])
    executor = RayExecutor(start_timeout_s=110, workers=1, policy=CallPolicy(max_attempts=2))
    design = harness(executor, perturbations=["none"], repetitions=1)
    (row,) = rows_of(list(design.evaluate_many(Sent(server.url), pairs(1))))
    assert (row.outcome, row.error, row.attempts) == ("error", "EmptyAnswerError: the reply holds no answer", 2)
    assert (row.input_tokens, row.output_tokens) == (server.bill().input, server.bill().output) == (4000, 20)


@pytest.mark.parametrize("cases", [6, 1])
def test_the_first_answer_settles_the_mode_of_every_worker(openai_server: Serve, cases: int) -> None:
    server = openai_server(unforced_once)
    judge = Sent(server.url)
    rows = rows_of(evaluated(judge, pairs(cases), repetitions=12 // cases))
    assert {row.attributes["output_mode"] for row in rows} == {"text"}
    assert [bool(request.forced_tool) for request in server.requests] == [True] + [False] * len(rows)
    assert sum(row.input_tokens or 0 for row in rows) == server.bill().input
    assert judge.identity.learned == {"output": "text"}


def test_an_answer_without_a_call_after_the_mode_was_settled_is_unparsed(openai_server: Serve) -> None:
    server = openai_server(lambda request: TOOLLESS if request.number else CALLED)
    judge = Sent(server.url)
    rows = rows_of(evaluated(judge, pairs(6)))
    assert Counter(row.outcome for row in rows) == {"ok": 1, "unparsed": len(rows) - 1}
    assert all(request.forced_tool for request in server.requests)
    assert judge.identity.learned == {"output": "structured"}


def test_a_run_goes_on_in_the_mode_in_which_it_began(openai_server: Serve, tmp_path: Path) -> None:
    server = openai_server(unforced_once)
    with SqlLog(tmp_path / "log.sqlite") as log:
        evaluated(Sent(server.url), pairs(6), log=log, run="r", budget=Budget(max_calls=3))
        evaluated(Sent(server.url), pairs(6), log=log, run="r")
        modes = Counter(row.attributes["output_mode"] for row in log.rows(run="r"))
    assert modes == {"text": 6 * 4}
    assert [request.number for request in server.requests if request.forced_tool] == [0]
