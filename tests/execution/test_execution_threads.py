"""Synchronous judges run in threads, side by side."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.judging import judge as _threads
from judgeharness_integrations.judging.judge import FunctionJudge, note_understood, thread_pool


def test_as_many_threads_run_as_calls_may_be_in_flight() -> None:
    together = threading.Barrier(40, timeout=10)

    def judge(case: object) -> str:
        together.wait()  # passes only if forty calls are in flight at once
        return "PASS"

    harness = JudgeHarness(
        perturbations=["none"], repetitions=40, aggregation_rule="majority", max_concurrency=40, observers=()
    )
    note_understood(known := FunctionJudge(function=judge))  # or its first call would go alone
    result = harness.evaluate(known, "case")
    assert result.sample_distribution == {"PASS": 40}
    assert (os.cpu_count() or 1) + 4 < 40  # more than the pool of an event loop would have run


def test_a_blocking_judge_does_not_hold_up_the_event_loop() -> None:
    asked, go_on = threading.Event(), threading.Event()

    def judge(case: object) -> str:
        asked.set()
        assert go_on.wait(20)  # which only the event loop can end
        return "PASS"

    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority")

    async def scene() -> str | None:
        asking = asyncio.create_task(harness.aevaluate(judge, "case"))
        while not asked.is_set():  # noqa: ASYNC110 - it is set in another thread
            await asyncio.sleep(0.001)
        assert not asking.done()
        go_on.set()
        return (await asking).verdict

    assert asyncio.run(scene()) == "PASS"


def test_there_is_one_pool_and_a_forked_child_gets_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_lock", "_pool"):
        monkeypatch.setattr(_threads, name, getattr(_threads, name))
    pool = thread_pool()
    assert thread_pool() is pool
    _threads._forget()
    assert thread_pool() is not pool
    thread_pool().shutdown()
