"""What an evaluation of one case does once a judge, and what it leaves behind: suites evaluate case by case."""

from __future__ import annotations

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.judging import adapters
from judgeharness_integrations.judging.adapters import as_judge
from judgeharness_integrations.judging.judge import in_thread
from judgeharness_integrations.redacting import redactor
from judgeharness_integrations.testing import ScriptedJudge

_CASES = 20


@pytest.mark.slow
def test_an_evaluation_leaves_nothing_to_the_garbage_collector() -> None:
    harness = JudgeHarness(perturbations=["none"], repetitions=6, aggregation_rule="majority", observers=())
    judge = ScriptedJudge(["PASS"] * 6 * (_CASES + 1))
    harness.evaluate(judge, "case 0")
    gc.collect()
    gc.disable()
    try:
        for number in range(_CASES):
            harness.evaluate(judge, f"case {number + 1}")
        found = gc.collect()
    finally:
        gc.enable()
    assert found < 30 * _CASES  # of the interpreter, other threads and a tracer; cycles of ours were 63 a case


def test_a_judge_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr(adapters, "check_takes_one", lambda *told: looked.append(told[1]))
    judge = ScriptedJudge(["PASS"], name="once")
    assert as_judge(judge) is as_judge(judge) is judge
    assert looked == ["once"]


def test_a_judge_that_cannot_be_referred_to_weakly_is_one() -> None:
    class Slotted:
        __slots__ = ()
        name, identity, criteria = "slotted", None, None

        async def judge(self, probe: object) -> str:
            del probe
            return "PASS"

    judge = Slotted()
    assert as_judge(judge) is judge  # type: ignore[comparison-overlap, arg-type]


def test_a_redactor_is_made_once_until_the_environment_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = redactor()
    assert redactor() is before
    monkeypatch.setenv("SOME_API_KEY", "one-that-was-set-later-1")
    assert redactor().text("with one-that-was-set-later-1") == "with [redacted]"
    monkeypatch.delenv("SOME_API_KEY")
    assert redactor() is before


def test_a_call_that_is_cancelled_before_its_thread_begins_is_not_made() -> None:
    go_on = Event()
    made: list[str] = []

    async def scene() -> None:
        with ThreadPoolExecutor(1) as threads:
            first = asyncio.create_task(in_thread(go_on.wait, 20, threads=threads))
            second = asyncio.create_task(in_thread(made.append, "second", threads=threads))
            await asyncio.sleep(0)
            second.cancel()
            await asyncio.wait([second])
            go_on.set()
            assert await first

    asyncio.run(scene())
    assert made == []


def test_an_answer_that_comes_after_its_loop_has_ended_is_dropped() -> None:
    go_on = Event()

    async def scene(threads: ThreadPoolExecutor) -> None:
        waiting = asyncio.create_task(in_thread(go_on.wait, 20, threads=threads))
        await asyncio.sleep(0.01)
        waiting.cancel()

    with ThreadPoolExecutor(1) as threads:
        asyncio.run(scene(threads))
        go_on.set()
