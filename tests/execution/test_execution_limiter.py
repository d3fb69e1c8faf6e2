"""Bounded concurrency: per run, per model, across harnesses, event loops and threads."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections.abc import Iterator

import pytest

from judgeharness_integrations import JudgeHarness, JudgeIdentity
from judgeharness_integrations.judging.execution import limiter as limiting
from judgeharness_integrations.judging.execution.limiter import Limiter, _Waiter, limiter_for
from judgeharness_integrations.judging.judge import FunctionJudge, note_understood


class Gauge:
    """A judge that notes how many of its calls are in flight at once."""

    def __init__(self, latency_s: float = 0.01) -> None:
        self.latency_s = latency_s
        self.most = self.now = self.calls = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        with self._lock:
            self.now += 1
            self.calls += 1
            self.most = max(self.most, self.now)
        try:
            yield
        finally:
            with self._lock:
                self.now -= 1

    async def __call__(self, case: object) -> str:
        with self.entered():
            await asyncio.sleep(self.latency_s)
        return "PASS"


def harness(max_concurrency: int, **options: object) -> JudgeHarness:
    return JudgeHarness(
        perturbations=["none"],
        repetitions=4,
        aggregation_rule="majority",
        max_concurrency=max_concurrency,
        observers=(),
        **options,
    )


async def drain(which: JudgeHarness, judge: object, cases: int, judge_model: str | None = None) -> int:
    names = [f"{which.design.repetitions}-{number}" for number in range(cases)]
    return len([result async for result in which.aevaluate_many(judge, names, judge_model)])


@pytest.mark.parametrize("limit", [1, 3, 16])
def test_a_run_reaches_its_concurrency_and_never_exceeds_it(limit: int) -> None:
    gauge = Gauge()
    assert asyncio.run(drain(harness(limit), gauge, 8)) == 8
    assert (gauge.most, gauge.calls) == (limit, 32)


def test_two_harnesses_over_one_model_share_its_limit() -> None:
    gauge = Gauge()
    judges = [
        FunctionJudge(function=gauge, name=name, identity=JudgeIdentity(name=name, model="shared-model"))
        for name in ("one", "two")
    ]

    async def both() -> None:
        await asyncio.gather(*(drain(harness(4), judge, 8) for judge in judges))

    asyncio.run(both())
    assert (gauge.most, gauge.calls) == (4, 64)


def test_the_judge_model_of_a_call_is_what_calls_are_limited_by() -> None:
    gauge = Gauge()
    judges = [FunctionJudge(function=gauge, name=name) for name in ("one", "two")]

    async def both(*models: str) -> int:
        gauge.most = 0
        await asyncio.gather(*(drain(harness(4), j, 8, m) for j, m in zip(judges, models, strict=True)))
        return gauge.most

    assert asyncio.run(both("model-x", "model-x")) == 4
    assert asyncio.run(both("model-y", "model-z")) == 8


def test_one_model_is_limited_across_event_loops_in_threads() -> None:
    gauge = Gauge()
    judge = FunctionJudge(function=gauge, identity=JudgeIdentity(name="j", model="many-loops"))
    threads = [threading.Thread(target=lambda: asyncio.run(drain(harness(3), judge, 6))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (gauge.most, gauge.calls) == (3, 72)


@pytest.mark.slow
def test_many_single_evaluations_at_once_keep_to_the_limit() -> None:
    gauge = Gauge()
    one = harness(5)

    async def many() -> None:
        await asyncio.gather(*(one.aevaluate(gauge, f"case {number}") for number in range(20)))

    asyncio.run(many())
    assert (gauge.most, gauge.calls) == (5, 80)


def test_a_judge_that_uses_a_harness_over_its_own_model_does_not_wait_for_itself() -> None:
    inner_gauge, inner = Gauge(0), harness(1)

    async def judge_of_judges(case: object) -> object:
        return (await inner.aevaluate(inner_gauge, case, "nested-model")).verdict

    async def outer() -> object:
        async with asyncio.timeout(5):
            return (await harness(1).aevaluate(judge_of_judges, "case", "nested-model")).verdict

    assert asyncio.run(outer()) == "PASS"
    assert inner_gauge.calls == 16

    def blocking_judge(case: object) -> object:
        return inner.evaluate(inner_gauge, case, "nested-model").verdict

    assert harness(1, timeout_s=5).evaluate(blocking_judge, "case", "nested-model").verdict == "PASS"


def test_the_capacity_is_that_of_the_largest_run_under_way() -> None:
    limiter = Limiter()
    assert limiter.capacity == 1
    with limiter.run(2), limiter.run(5):
        with limiter.run(2):
            assert limiter.capacity == 5
        assert limiter.capacity == 5
    assert limiter.capacity == 1


def test_a_slot_given_to_a_cancelled_call_goes_to_the_next_one() -> None:
    async def scene() -> list[str]:
        limiter, got = Limiter(), []

        async def take(name: str) -> None:
            await limiter.acquire()
            got.append(name)

        with limiter.run(1):
            await limiter.acquire()
            waiting = [asyncio.create_task(take(name)) for name in ("first", "second", "third")]
            await asyncio.sleep(0)
            waiting[0].cancel()  # still in the queue
            await asyncio.sleep(0)
            limiter.release()  # handed to the second one ...
            waiting[1].cancel()  # ... which is cancelled before it could run
            await asyncio.wait(waiting)
        return got

    assert asyncio.run(scene()) == ["third"]


def test_slots_above_a_capacity_that_shrank_are_not_handed_on() -> None:
    async def scene() -> list[int]:
        limiter, held = Limiter(), []

        async def take() -> None:
            await limiter.acquire()
            held.append(1)

        with limiter.run(1):
            with limiter.run(3):
                for _ in range(3):
                    await limiter.acquire()
                waiting = [asyncio.create_task(take()) for _ in range(2)]
                await asyncio.sleep(0.01)
            counts = []
            for _ in range(4):
                limiter.release()
                await asyncio.sleep(0.01)
                counts.append(len(held))
            await asyncio.gather(*waiting)
        return counts

    assert asyncio.run(scene()) == [0, 0, 1, 2]  # one in flight at a time from the third release on


def test_a_larger_run_wakes_those_who_wait() -> None:
    async def scene() -> None:
        limiter = Limiter()
        with limiter.run(1):
            await limiter.acquire()
            waiting = asyncio.create_task(limiter.acquire())
            await asyncio.sleep(0)
            with limiter.run(2):
                await asyncio.wait_for(waiting, 1)

    asyncio.run(scene())


def test_a_forked_child_starts_without_limiters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limiting, "_guard", limiting._guard)
    monkeypatch.setattr(limiting, "_limiters", {"kept": limiter_for("kept")})
    before = limiter_for("kept")
    assert limiter_for("kept") is before
    limiting._forget()
    assert limiter_for("kept") is not before


def test_whoever_waited_in_a_closed_event_loop_is_passed_over() -> None:
    limiter = Limiter()
    dead = asyncio.new_event_loop()

    async def scene() -> None:
        await limiter.acquire()
        waiting = limiter.acquire()
        waiting.send(None)  # it waits in the running loop

        async def elsewhere() -> None:
            await asyncio.wait_for(limiter.acquire(), 1)

        limiter._waiting.appendleft(_Waiter(dead, asyncio.get_running_loop().create_future()))
        limiter.release()
        await asyncio.sleep(0)
        assert limiter._in_flight == 1
        with pytest.raises(StopIteration):
            waiting.send(None)
        limiter.release()
        await elsewhere()

    dead.close()
    asyncio.run(scene())


# what is collected after its loop was closed cannot end in it, and Python says so of each coroutine
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_worker_destroyed_with_its_loop_gives_its_slot_back() -> None:
    limiter = limiter_for("abandoned-model")
    asked, both = [], asyncio.Event()

    async def forever(case: object) -> str:
        asked.append(case)
        if len(asked) > 1:
            both.set()
        await asyncio.Event().wait()
        return "never"

    async def begin() -> None:
        loop.set_exception_handler(lambda *_: None)  # "Task was destroyed but it is pending", as it is meant
        note_understood(judge := FunctionJudge(function=forever))  # or its first call would go alone
        results = harness(2).aevaluate_many(judge, ["case"], "abandoned-model")
        step = asyncio.ensure_future(anext(results))
        await both.wait()
        assert limiter._in_flight == 2
        del step

    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(begin())
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()
    gc.collect()
    assert limiter._in_flight == 0
