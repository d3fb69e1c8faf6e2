"""Repetitions of a text wait for its first answer, which a provider's prompt cache then knows: same rows, cheaper."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextvars import Context, copy_context
from pathlib import Path
from typing import Any

import pytest
from support.prefix_cache import ClientJudge, PrefixCache, long_pairs
from support.provider_server import ProviderServer, Reply

from judgeharness_integrations import AnswerCase, HarnessResult, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import PlanError
from judgeharness_integrations.judging.adapterkit import captured
from judgeharness_integrations.judging.execution.local import Asking, LocalExecutor, Rows
from judgeharness_integrations.judging.execution.observing import answer_begun, awaiting_beginning
from judgeharness_integrations.judging.execution.preparing import Pending
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.judge import Judge, Judgment, Probe, as_judgment
from judgeharness_integrations.judging.tiers import TieredJudge
from judgeharness_integrations.verdictlog import SqlLog

Text = tuple[str, str]


class Watching:
    """A judge that notes, of every text, how many calls began before the first answer about it."""

    name, identity, criteria = "watching", None, None

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, int]] = []
        self.early: Counter[Text] = Counter()
        self._answered: set[Text] = set()

    async def judge(self, probe: Probe) -> Judgment:
        text = (probe.case_id, probe.perturbation.name)
        self.asked.append((*text, probe.repetition))
        self.early[text] += text not in self._answered
        await asyncio.sleep(0.001)
        self._answered.add(text)
        return as_judgment("TIE")


def pairs(count: int) -> list[PairwiseCase]:
    return [PairwiseCase(case_id=str(n), output=f"one {n}", output_b=f"two {n}") for n in range(count)]


def harness(**options: Any) -> JudgeHarness:
    return JudgeHarness.standard("pairwise", observers=(), **options)


def unprimed(judge: Watching) -> int:
    """Return how many calls began that a first answer about their text would have made cheaper."""
    return sum(judge.early.values()) - len(judge.early)


def test_repetitions_wait_for_the_first_answer_while_there_is_anything_else_to_ask() -> None:
    judge = Watching()
    list(harness(max_concurrency=8).evaluate_many(judge, pairs(40)))
    assert len(judge.asked) == 240
    assert unprimed(judge) < 8  # at the end, when slots would be empty


def test_without_priming_all_probes_of_a_case_leave_at_once() -> None:
    judge = Watching()
    list(harness(max_concurrency=8, prime_cache=False).evaluate_many(judge, pairs(40)))
    assert unprimed(judge) > 100


def test_where_nothing_else_is_to_be_asked_nothing_waits() -> None:
    judge = Watching()
    list(harness(max_concurrency=8).evaluate_many(judge, pairs(1)))
    assert set(judge.early.values()) == {3}


def test_one_call_at_a_time_keeps_the_order_of_the_plan() -> None:
    judge = Watching()
    list(harness(max_concurrency=1).evaluate_many(judge, pairs(2)))
    plan = [(str(n), order, k) for n in range(2) for order in ("none", "position_swap") for k in range(3)]
    assert judge.asked == plan


def test_a_first_answer_that_fails_lets_the_repetitions_go() -> None:
    class Failing(Watching):
        async def judge(self, probe: Probe) -> Judgment:
            await super().judge(probe)
            raise ValueError("nobody home")

    judge = Failing()
    results = list(harness(max_concurrency=2).evaluate_many(judge, pairs(10)))
    assert {len(result.rows) for result in results} == {6}


def test_a_case_that_cannot_be_read_waits_for_the_repetitions_before_it() -> None:
    def cases() -> Iterator[PairwiseCase]:
        yield from pairs(3)
        yield AnswerCase(case_id="none of these", output="x")  # type: ignore[misc]

    judge, results = Watching(), []
    with pytest.raises(PlanError, match="position_swap"):
        results.extend(harness().evaluate_many(judge, cases()))  # type: ignore[arg-type]
    assert len(judge.asked) == 18


def test_a_run_that_goes_on_asks_one_unknown_repetition_first(tmp_path: Path) -> None:
    first, second = Watching(), Watching()
    with SqlLog(tmp_path / "log.sqlite") as log:
        one = harness(log=log, run="r", max_concurrency=4, prime_cache=False, budget=Budget(max_calls=61))
        list(one.evaluate_many(first, pairs(20)))
        list(harness(log=log, run="r", max_concurrency=4).evaluate_many(second, pairs(20)))
    assert sorted(first.asked + second.asked) == sorted({*first.asked, *second.asked})
    assert len(first.asked + second.asked) == 120
    assert unprimed(second) < 4


class Streaming(Watching):
    """A judge whose model begins to answer long before it has ended; `during` counts calls between the two."""

    def __init__(self, *, says: bool) -> None:
        super().__init__()
        self._says, self._unended, self.during = says, set[Text](), 0

    async def judge(self, probe: Probe) -> Judgment:
        text = (probe.case_id, probe.perturbation.name)
        self.during += text in self._unended
        self.asked.append((*text, probe.repetition))
        first = text not in self._answered and text not in self._unended
        if first:
            self._unended.add(text)
        for _ in range(3):  # pieces
            if self._says:
                answer_begun()
            await asyncio.sleep(0.003)
        self._answered.add(text)
        if first:
            self._unended.remove(text)
        return as_judgment("TIE")


def test_repetitions_follow_once_a_streamed_answer_has_begun() -> None:
    silent, telling = Streaming(says=False), Streaming(says=True)
    for judge in (silent, telling):
        results = list(harness(max_concurrency=8).evaluate_many(judge, pairs(40)))
        assert {len(result.rows) for result in results} == {6}
        assert len(judge.asked) == len(set(judge.asked)) == 240
    assert silent.during <= 8  # at the end, when slots would be empty
    assert telling.during > 80


@pytest.mark.parametrize("streaming", [False, True])
def test_a_langchain_model_that_streams_says_when_it_begins(*, streaming: bool) -> None:
    from langchain_openai import ChatOpenAI

    begun: list[str] = []
    with ProviderServer([Reply.text("[[A]] is better")]) as server, captured() as seen:
        model = ChatOpenAI(base_url=f"{server.url}/v1", api_key="test", streaming=streaming)
        with awaiting_beginning(lambda: begun.append("one" if seen.last is None else "late")):
            model.invoke("Which is better?")
        model.invoke("And outside of a call?")
    assert set(begun) == ({"one"} if streaming else set())
    assert len(seen.answers) == 2


def test_a_beginning_that_comes_after_the_run_is_passed_over() -> None:
    contexts: list[Context] = []

    class Late(Watching):
        async def judge(self, probe: Probe) -> Judgment:
            contexts.append(copy_context())
            return await super().judge(probe)

    async def run() -> int:
        return len([result async for result in harness().aevaluate_many(Late(), pairs(1))])

    assert asyncio.run(run()) == 1
    for context in contexts:
        context.run(answer_begun)


class Another:
    """An executor that hands its probes on by an iterator of its own."""

    def ask(self, judge: Judge, probes: AsyncIterator[Pending], asking: Asking) -> AsyncGenerator[Rows, None]:
        async def handed_on() -> AsyncIterator[Pending]:
            async for pending in probes:
                yield pending

        return LocalExecutor(max_concurrency=1).ask(judge, handed_on(), asking)


def test_an_executor_that_tells_of_no_answer_primes_with_the_rows_it_yields() -> None:
    judge = Watching()
    results = list(harness(executor=Another()).evaluate_many(judge, pairs(20)))
    assert ({len(result.rows) for result in results}, unprimed(judge)) == ({6}, 0)


def shares(concurrency: int, cases: int, *, latency_s: float = 0.02, **options: Any) -> float:
    """Return the share of the input that came from the provider's cache."""
    with ProviderServer(PrefixCache(latency_s=latency_s)) as server:
        one = harness(max_concurrency=concurrency, **options)
        results = list(one.evaluate_many(ClientJudge(server), long_pairs(cases)))
        bill = server.bill()
    assert sum(result.usage.cached_input_tokens or 0 for result in results) == bill.cached
    assert sum(result.usage.calls for result in results) == 6 * cases
    return bill.cached / bill.input


@pytest.mark.slow
@pytest.mark.timeout(300)  # thousands of requests through a real client, beside other tests
@pytest.mark.parametrize(("concurrency", "cases"), [(16, 80), (64, 180)])
def test_most_of_the_input_comes_from_the_providers_cache(concurrency: int, cases: int) -> None:
    assert shares(concurrency, cases) >= 0.6


@pytest.mark.slow
def test_without_priming_next_to_nothing_comes_from_it() -> None:
    assert shares(16, 24, latency_s=0.5, prime_cache=False) < 0.1


def kept(results: list[HarnessResult]) -> list[Any]:
    """Return of every row what it is about and says."""
    return sorted((*row.key, row.verdict, row.outcome, row.swapped) for one in results for row in one.rows)


@pytest.mark.slow
def test_levers_change_no_verdict() -> None:
    with ProviderServer(PrefixCache(latency_s=0.0, flex=False)) as server:
        cases = long_pairs(16, words=200)
        flex = TieredJudge(tier="flex", cheaper=ClientJudge(server, "flex"), standard=ClientJudge(server))
        plain = list(harness(prime_cache=False).evaluate_many(ClientJudge(server), cases))
        primed = list(harness().evaluate_many(flex, cases))
        short = list(JudgeHarness.cheap("pairwise", observers=()).evaluate_many(flex, cases))
    assert kept(primed) == kept(plain)
    assert set(kept(short)) < set(kept(plain))
    decided = [{r.case_id: (r.status, r.verdict) for r in results} for results in (plain, primed, short)]
    assert decided[0] == decided[1] == decided[2]
